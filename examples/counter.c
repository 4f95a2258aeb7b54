/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ordinary libpmemobj program, which knows nothing of replicas: counts how often it was run.
 *
 *     counter POOL
 *
 * POOL is a pool, or a pool set, with the layout "counter". See rpmem-libpmemobj(7).
 */
#include <err.h>
#include <inttypes.h>
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>

struct root {
    uint64_t runs;
};

int main(int argc, char* argv[]) {
    if (argc != 2)
        errx(EXIT_FAILURE, "usage: %s POOL", argv[0]);
    PMEMobjpool* pool = pmemobj_open(argv[1], "counter");
    if (pool == NULL)
        errx(EXIT_FAILURE, "opening %s: %s", argv[1], pmemobj_errormsg());

    PMEMoid root = pmemobj_root(pool, sizeof(struct root));
    if (OID_IS_NULL(root))
        errx(EXIT_FAILURE, "the root of %s: %s", argv[1], pmemobj_errormsg());
    struct root* counter = pmemobj_direct(root);
    TX_BEGIN(pool) {
        pmemobj_tx_add_range(root, 0, sizeof(struct root));
        counter->runs++;
    }
    TX_ONABORT { errx(EXIT_FAILURE, "the transaction: %s", pmemobj_errormsg()); }
    TX_END

    printf("run %" PRIu64 "\n", counter->runs);
    pmemobj_close(pool);
    return EXIT_SUCCESS;
}
