import { test } from "@fast-check/vitest";
import { checkUnknown, conversationsWithUnknown } from "./unknown-items.ts";

test.prop([conversationsWithUnknown], { numRuns: 10_000 })(
	"items and fields that no format knows are kept and counted in 10 000 conversations, and change nothing else",
	checkUnknown,
	900_000,
);
