import { guardTimes } from "./guard-times.ts";
import { atMost, duration, type Section, short, type Target } from "./section.ts";
import { median, quantile } from "./statistics.ts";

const sizes = [100, 1000, 10_000];

/** The library's `guard` on a conversation that it has seen, with one more message at its end. */
export async function incremental(): Promise<Section> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const [size, times] of await guardTimes(sizes)) {
		const same = times.map(({ first, sameObjects }) => median(sameObjects) / first);
		const anew = times.map(({ first, parsedAnew }) => median(parsedAnew) / first);
		rows.push([
			short(size),
			duration(median(times.map(({ first }) => first))),
			duration(median(times.flatMap(({ sameObjects }) => sameObjects))),
			ratio(same),
			duration(median(times.flatMap(({ parsedAnew }) => parsedAnew))),
			ratio(anew),
			duration(median(times.map(({ parse }) => parse))),
		]);
		if (size < 1000) continue;
		targets.push(
			atMost(`guard again, ${short(size)} messages and one more, same objects: of the first call`, 0.1, median(same)),
		);
		targets.push(
			atMost(`guard again, ${short(size)} messages and one more, parsed anew: of the first call`, 0.1, median(anew)),
		);
	}
	return {
		title: "The same conversation, one message later",
		notes: [
			"First call on a conversation never seen, then the same with one more message at its end, again and again: once as a new list of the same message objects, once parsed anew from JSON text (as a server gets it). Ratios to the first call in the same process, whose code of both kinds of calls is warm; quartiles over processes.",
		],
		tables: [
			{
				columns: [
					"messages",
					"first call",
					"same objects",
					"of the first",
					"parsed anew",
					"of the first",
					"JSON.parse, for scale",
				],
				rows,
			},
		],
		targets,
	};
}

function ratio(values: readonly number[]): string {
	return `${short(median(values))} × (${short(quantile(values, 0.25))} – ${short(quantile(values, 0.75))})`;
}
