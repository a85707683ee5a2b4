import type { StandInThinking } from "../support/stand-in-thinking.ts";
import { grouped } from "./grouped.ts";
import type { ProgramRun } from "./run-program.ts";

/** An account made since 2026-08-31, for which Opus 5.5 and later models check. */
export const strictThinking: StandInThinking = { account: "newer" };

export const strictNote =
	"The stand-in checks as Anthropic's API does for an account made since 2026-08-31; each answer begins with 400 tokens of thinking. Errors: those that the program itself got. Repairs: requests from which it took thinking that it had sent before. Of the blocks of thinking, gone are those that the model was no longer shown, and lost those that were valid at their places in a request and not in it.\n";

export const strictColumns = [
	"program",
	"with",
	"requests",
	"refused (400)",
	"errors",
	"repairs",
	"thinking blocks sent",
	"gone",
	"lost",
	"tokens",
	"billed",
	"output tokens",
	"right last answer",
];

export function strictRow({ totals, errors, repairs, isRight }: ProgramRun, alone: ProgramRun): string[] {
	const { requests, refused, blocksSent, blocksGone, blocksLost, sent, billed, output } = totals;
	const counts = [requests, refused, errors, repairs, blocksSent, blocksGone, blocksLost].map(grouped);
	const ratio = (now: number, before: number) => `${grouped(now)} (× ${(now / before).toFixed(2)})`;
	const bill = [ratio(sent, alone.totals.sent), ratio(billed, alone.totals.billed), grouped(output)];
	return [...counts, ...bill, isRight ? "yes" : "no"];
}

/** At most one refused request in a session, no error and no repair in the program, and every valid block of thinking is sent. */
export function keepsThinking({ totals, errors, repairs, isRight }: ProgramRun): boolean {
	return isRight && totals.refused <= 1 && errors === 0 && repairs === 0 && totals.blocksLost === 0;
}
