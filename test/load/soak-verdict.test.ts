import { expect, it } from "vitest";
import { drawSoak } from "./soak-picture.ts";
import { judgeSoak, type SoakLine } from "./soak-verdict.ts";

const line = (index: number, more: Partial<SoakLine> = {}): SoakLine => ({
	face: "serve",
	kind: "minute",
	seconds: index * 60,
	calls: index * 100,
	wrong: 0,
	resident: 200e6 + (index % 3) * 5e6,
	residentMost: 220e6,
	heap: 40e6 + (index % 2) * 2e6,
	descriptors: 80,
	descriptorsMost: 90,
	threads: 13,
	threadsMost: 13,
	timers: 0,
	processor: 10,
	ownProcessor: 4,
	pings: 600,
	pingP50: 2,
	pingP99: 30,
	pingMost: 90,
	idleP99: 5,
	...more,
});
const quiet = { descriptors: 30, threads: 13, timers: 0 };

function linesOf(more: (index: number) => Partial<SoakLine> = () => ({}), end: Partial<SoakLine> = {}): SoakLine[] {
	const minutes = Array.from({ length: 60 }, (_, index) => line(index + 1, more(index + 1)));
	return [
		...minutes.slice(0, 20),
		line(20, { kind: "quiet", ...quiet }),
		...minutes.slice(20),
		line(60, { kind: "end", ...quiet, ...end }),
	];
}

const broken = (lines: readonly SoakLine[]) => judgeSoak(lines).flatMap(({ what, holds }) => (holds ? [] : [what]));

it("finds nothing in a soak that is flat", () => {
	expect(broken(linesOf())).toEqual([]);
});

it.each<[string, SoakLine[]]>([
	["requests", linesOf(undefined, { wrong: 1 })],
	["resident memory, growth in the second half", linesOf((index) => ({ resident: 200e6 + index * 1e6 }))],
	["heap of the main thread, growth in the second half", linesOf((index) => ({ heap: 40e6 + index * 1e6 }))],
	["descriptors without clients", linesOf(undefined, { descriptors: 36 })],
	["threads without clients", linesOf(undefined, { threads: 16 })],
	["timers without clients", linesOf(undefined, { timers: 6 })],
	["ping p50, p99, most", linesOf(undefined, { pingP99: 101 })],
])("finds the fault of %s", (what, lines) => {
	expect(broken(lines)).toEqual([what]);
});

it("judges only figures that the system provides", () => {
	const nothing = { resident: undefined, descriptors: undefined, threads: undefined };
	const claims = judgeSoak(linesOf(() => nothing, nothing));
	expect(claims.flatMap(({ what, holds }) => (holds === undefined ? [what] : []))).toEqual([
		"resident memory, growth in the second half",
		"descriptors without clients",
		"threads without clients",
	]);
	expect(claims.filter(({ holds }) => holds === false)).toEqual([]);
});

it("draws both faces of two hours in less than 60 kB", () => {
	const hours = (face: SoakLine["face"]) => Array.from({ length: 120 }, (_, index) => line(index + 1, { face }));
	const picture = drawSoak([...hours("serve"), ...hours("proxy")]);
	expect(picture.length).toBeLessThan(60_000);
	const curves = picture.match(/<path d="M[\d.]+ [\d.]+(?:L[\d.]+ [\d.]+){119}"/g) ?? [];
	expect(curves).toHaveLength(2 * 2 + 3);
	expect(picture).not.toMatch(/NaN|undefined|Infinity/);
});
