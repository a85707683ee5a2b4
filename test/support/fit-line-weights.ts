import { focusWords } from "../../src/engine/truncation/focus.ts";
import {
	lineFeatures,
	lineSigns,
	type lineWeights,
	signNames,
	textUnits,
	unitText,
} from "../../src/engine/truncation/lines.ts";
import { kinds, measures, type RecallCase } from "../engine/truncation/recall-cases.ts";

/** The lines of one result: the signs of each, one after the other, and how much was taken from it later. */
export interface LineSample {
	readonly signs: Float64Array;
	readonly taken: Float64Array;
	readonly count: number;
	/** Lines that say nothing by themselves, which no weight concerns. */
	readonly bare: Float32Array;
}

/** What a string that is taken counts; one that stood in other results too counts half. */
const counts = { identifiers: 0.7, lines: 1 } as const;
/** Strings from one result over which more of them count no more, so that no result outweighs the rest. */
const mostFromOne = 15;
const ridge = 10;
/** What the weights found are multiplied by, so that the choice is less bold than the estimate. */
const boldness = 0.8;
/** Beside the signs: one for all lines, and how many lines the result has. */
const width = signNames.length + 2;

export function lineSample({ text, focus, alone, shared }: RecallCase): LineSample {
	const units = textUnits(text.toWellFormed());
	const features = lineFeatures(units, focusWords(focus));
	const signsOf = lineSigns(units, features);
	const signs = new Float64Array(units.count * width);
	const taken = new Float64Array(units.count);
	const open = { identifiers: new Set(shared.identifiers), lines: new Set(shared.lines) };
	for (let unit = 0; unit < units.count; unit += 1) {
		signs.set([1, Math.log(units.count) / 5, ...signsOf(unit)], unit * width);
		for (const kind of kinds) {
			if (open[kind].size === 0) continue;
			for (const one of measures[kind](unitText(units, unit))) {
				if (open[kind].delete(one))
					taken[unit] = (taken[unit] as number) + counts[kind] * (alone[kind].has(one) ? 1 : 0.5);
			}
		}
	}
	const sum = taken.reduce((all, one) => all + one, 0);
	if (sum > mostFromOne)
		for (let unit = 0; unit < units.count; unit += 1) taken[unit] = ((taken[unit] as number) * mostFromOne) / sum;
	return { signs, taken, count: units.count, bare: features.bare };
}

/** Poisson regression with a ridge, by Newton's steps. */
export function fitLineWeights(samples: readonly LineSample[]): typeof lineWeights {
	const found = new Float64Array(width);
	const lines = samples.reduce((sum, { count }) => sum + count, 0);
	found[0] = Math.log(samples.reduce((sum, { taken }) => sum + taken.reduce((all, one) => all + one, 0), 0) / lines);
	for (let round = 0; round < 25; round += 1) {
		const slope = Array.from(found, (one, index) => (index === 0 ? 0 : -ridge * one));
		const curve = slope.map((_, row) => slope.map((_, column) => (row === column ? (row === 0 ? 1e-6 : ridge) : 0)));
		for (const sample of samples) addSample(sample, { found, slope, curve });
		const step = solve(curve, slope);
		step.forEach((one, index) => {
			found[index] = (found[index] as number) + Math.max(-1, Math.min(1, one));
		});
		if (step.every((one) => Math.abs(one) < 1e-3)) break;
	}
	const weights = signNames.map((name, index) => [name, boldness * (found[index + 2] as number)]);
	return Object.fromEntries(weights) as unknown as typeof lineWeights;
}

function addSample(
	{ signs, taken, count, bare }: LineSample,
	{ found, slope, curve }: { found: Float64Array; slope: number[]; curve: number[][] },
): void {
	for (let unit = 0; unit < count; unit += 1) {
		if (bare[unit] === 1) continue;
		const own = signs.subarray(unit * width, (unit + 1) * width);
		let sum = 0;
		for (let index = 0; index < width; index += 1) sum += (found[index] as number) * (own[index] as number);
		const expected = Math.exp(Math.max(-15, Math.min(4, sum)));
		for (let row = 0; row < width; row += 1) {
			const sign = own[row] as number;
			if (sign === 0) continue;
			slope[row] = (slope[row] as number) + ((taken[unit] as number) - expected) * sign;
			const curveRow = curve[row] as number[];
			for (let column = 0; column < width; column += 1)
				curveRow[column] = (curveRow[column] as number) + expected * sign * (own[column] as number);
		}
	}
}

/** Solves a system of equations by elimination; its matrix is positive definite. */
function solve(matrix: number[][], right: number[]): number[] {
	const rows = matrix.map((row, index) => [...row, right[index] as number]);
	for (const [place, pivot] of rows.entries()) {
		for (const other of rows.slice(place + 1)) {
			const factor = (other[place] as number) / (pivot[place] as number);
			for (let column = place; column < other.length; column += 1)
				other[column] = (other[column] as number) - factor * (pivot[column] as number);
		}
	}
	const found = right.map(() => 0);
	for (let place = rows.length - 1; place >= 0; place -= 1) {
		const row = rows[place] as number[];
		let rest = row.at(-1) as number;
		for (let column = place + 1; column < found.length; column += 1)
			rest -= (row[column] as number) * (found[column] as number);
		found[place] = rest / (row[place] as number);
	}
	return found;
}
