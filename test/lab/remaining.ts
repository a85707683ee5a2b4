/** How many calls the sessions of a program or a benchmark made. */
export interface SessionCalls {
	readonly source: string;
	readonly calls: number;
}

/** Calls so far at which long sessions are looked at. */
const marks = [40, 50, 60, 80, 100, 120, 160, 200, 250, 300];
/** A share of the calls so far: one of so many. */
const parts = Array.from({ length: 29 }, (_, place) => place + 2);
const wanted = 0.75;

/** For each mark, how many sessions pass it, and which share of them then makes one call more for each `part` so far. */
export function remainingRows(sessions: readonly SessionCalls[], part: number) {
	return [20, 30, ...marks].flatMap((mark) => {
		const passed = sessions.filter(({ calls }) => calls >= mark);
		if (passed.length === 0) return [];
		const follow = passed.map(({ calls }) => calls - mark).sort((a, b) => a - b);
		const goesOn = shareGoingOn(passed, [mark], part) as number;
		return [{ mark, sessions: passed.length, quartile: follow[Math.floor(follow.length / 4)] as number, goesOn }];
	});
}

/** For each source, the most calls that three of four sessions of all others go on for, and the share of its own that do so. */
export function remainingLeftOut(sessions: readonly SessionCalls[]) {
	const sources = [...new Set(sessions.map(({ source }) => source))];
	return sources.flatMap((source) => {
		const own = sessions.filter((one) => one.source === source);
		const others = sessions.filter((one) => one.source !== source);
		const part = parts.find((one) => (shareGoingOn(others, marks, one) ?? 0) >= wanted);
		const goesOn = part === undefined ? undefined : shareGoingOn(own, marks, part);
		return part === undefined || goesOn === undefined ? [] : [{ source, part, goesOn }];
	});
}

export function remainingText(sessions: readonly SessionCalls[], part: number): string {
	const table = ([titles = [], ...lines]: readonly (readonly (string | number)[])[]) =>
		[titles, titles.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
	const rows = remainingRows(sessions, part).map(({ mark, sessions: count, quartile, goesOn }) => {
		return [mark, count, quartile, goesOn.toFixed(2)];
	});
	const left = remainingLeftOut(sessions).map((one) => [one.source, `1/${one.part}`, one.goesOn.toFixed(2)]);
	return [
		table([["calls so far", "sessions", "three of four go on for", `share that goes on for 1/${part} more`], ...rows]),
		table([["source left out", "chosen on the others", "its own share that goes on"], ...left]),
	].join("\n");
}

/** Each session counts once at each mark that it passes; `undefined` if none passes one. */
function shareGoingOn(sessions: readonly SessionCalls[], at: readonly number[], part: number): number | undefined {
	const passed = at.flatMap((mark) =>
		sessions.filter(({ calls }) => calls >= mark).map(({ calls }) => ({ mark, calls })),
	);
	if (passed.length === 0) return undefined;
	return passed.filter(({ mark, calls }) => calls - mark >= Math.floor(mark / part)).length / passed.length;
}
