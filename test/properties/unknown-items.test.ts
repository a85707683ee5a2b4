import { test } from "@fast-check/vitest";
import { numberOfCases } from "../support/case-divisor.ts";
import { checkUnknown, conversationsWithUnknown } from "./unknown-items.ts";

test.prop([conversationsWithUnknown], { numRuns: numberOfCases(600) })(
	"items and fields that no format knows are kept and counted, and change nothing else",
	checkUnknown,
);
