import type { FormatRow } from "./format-row.ts";
import { describeCalls } from "./suite/calls.ts";
import { describeContents } from "./suite/contents.ts";
import { describeEdits } from "./suite/edits.ts";
import { describeFinding } from "./suite/finding.ts";
import { describeFixture } from "./suite/fixture.ts";
import { describeHostile } from "./suite/hostile.ts";
import { describeMedia } from "./suite/media.ts";
import { describeRestoring } from "./suite/restoring.ts";
import { describeTimes } from "./suite/times.ts";
import { describeUnknown } from "./suite/unknown.ts";
import { describeWrappings } from "./suite/wrappings.ts";
import { describeWriting } from "./suite/writing.ts";

/** The contract that every format keeps. */
export function describeFormat(row: FormatRow): void {
	describeFinding(row);
	describeFixture(row);
	describeWrappings(row);
	describeCalls(row);
	describeContents(row);
	describeEdits(row);
	describeMedia(row);
	describeTimes(row);
	describeUnknown(row);
	describeHostile(row);
	describeWriting(row);
	describeRestoring(row);
}
