/* SPDX-License-Identifier: BSD-3-Clause */
// The list of each thread. Each step inserts, removes or moves an item, outside of transactions.
#include "tests/clients/workload.h"

#include <errno.h>
#include <string.h>

enum { max_items = 8 };

enum change { insert_first, insert_last, remove_first, remove_last, move_first_last };

static enum change plan_change(unsigned number, uint64_t step, uint64_t length) {
    const uint64_t dice = mix(mix(((uint64_t)number << 52) + step));
    if (length == 0)
        return dice % 2 == 0 ? insert_first : insert_last;
    if (length == max_items)
        return (enum change)(remove_first + dice % 3);
    return (enum change)(dice % 5);
}

static int construct_item(PMEMobjpool* pool, void* memory, void* argument) {
    struct item* item = memory;
    memcpy(item, argument, sizeof(*item));
    pmemobj_persist(pool, item, sizeof(*item));
    return 0;
}

static PMEMoid last_of(const struct list* list) {
    const struct item* first = pmemobj_direct(list->first);
    return first == NULL ? OID_NULL : first->prev;
}

uint64_t list_length(const struct list* list) {
    uint64_t length = 0;
    PMEMoid oid = list->first;
    while (!OID_IS_NULL(oid)) {
        ++length;
        oid = ((const struct item*)pmemobj_direct(oid))->next;
        if (OID_EQUALS(oid, list->first) || length > max_items)
            break;
    }
    return length;
}

int list_change(PMEMobjpool* pool, struct list* list, unsigned number, uint64_t step) {
    struct item item = {.step = step};
    switch (plan_change(number, step, list_length(list))) {
    case insert_first:
    case insert_last: {
        const int before = plan_change(number, step, list_length(list)) == insert_first;
        fill_payload(item.payload, sizeof(item.payload), number, step);
        return OID_IS_NULL(pmemobj_list_insert_new(pool, offsetof(struct item, next), list,
                                                   OID_NULL, before, sizeof(item), 4,
                                                   construct_item, &item))
                   ? errno
                   : 0;
    }
    case remove_first:
        return pmemobj_list_remove(pool, offsetof(struct item, next), list, list->first, 1);
    case remove_last:
        return pmemobj_list_remove(pool, offsetof(struct item, next), list, last_of(list), 1);
    case move_first_last:
        return pmemobj_list_move(pool, offsetof(struct item, next), list,
                                 offsetof(struct item, next), list, OID_NULL, 0, list->first);
    }
    return EINVAL;
}

// Applies STEP to the model, a list of the steps whose items are in the list. Returns its new
// length.
static uint64_t change_model(uint64_t* steps, uint64_t length, unsigned number, uint64_t step) {
    const enum change change = plan_change(number, step, length);
    const uint64_t first = steps[0];
    if (change == insert_first)
        memmove(steps + 1, steps, length * sizeof(*steps));
    if (change == remove_first || change == move_first_last)
        memmove(steps, steps + 1, (length - 1) * sizeof(*steps));
    switch (change) {
    case insert_first:
        steps[0] = step;
        return length + 1;
    case insert_last:
        steps[length] = step;
        return length + 1;
    case move_first_last:
        steps[length - 1] = first;
        return length;
    default:
        return length - 1;
    }
}

static int verify_item(const struct item* item, unsigned number, uint64_t step) {
    unsigned char payload[sizeof(item->payload)];
    fill_payload(payload, sizeof(payload), number, step);
    return item->step == step && memcmp(payload, item->payload, sizeof(payload)) == 0
               ? 0
               : wrong(number, "the list's item of step", step);
}

static uint64_t replay_list(uint64_t* expected, unsigned number, uint64_t steps) {
    uint64_t length = 0;
    for (uint64_t step = 0; step < steps; ++step)
        length = change_model(expected, length, number, step);
    return length;
}

int list_has(const struct list* list, unsigned number, uint64_t steps) {
    uint64_t expected[max_items];
    const uint64_t length = replay_list(expected, number, steps);
    if (list_length(list) != length)
        return 0;
    PMEMoid oid = list->first;
    for (uint64_t i = 0; i < length; ++i) {
        const struct item* item = pmemobj_direct(oid);
        if (item->step != expected[i])
            return 0;
        oid = item->next;
    }
    return 1;
}

int list_verify(const struct list* list, unsigned number, uint64_t steps) {
    uint64_t expected[max_items];
    const uint64_t length = replay_list(expected, number, steps);
    if (list_length(list) != length)
        return wrong(number, "the list's length", list_length(list));
    PMEMoid oid = list->first;
    PMEMoid before = last_of(list);
    for (uint64_t i = 0; i < length; ++i) {
        const struct item* item = pmemobj_direct(oid);
        if (verify_item(item, number, expected[i]) != 0)
            return 1;
        if (!OID_EQUALS(item->prev, before))
            return wrong(number, "the list's way back from item", i);
        before = oid;
        oid = item->next;
    }
    return 0;
}

void list_print_extents(const struct list* list, FILE* file) {
    fprintf(file, "%llu %zu\n", (unsigned long long)pmemobj_oid(list).off, sizeof(list->first));
    PMEMoid oid = list->first;
    for (uint64_t i = list_length(list); i > 0; --i) {
        fprintf(file, "%llu %zu\n", (unsigned long long)oid.off, sizeof(struct item));
        oid = ((const struct item*)pmemobj_direct(oid))->next;
    }
}
