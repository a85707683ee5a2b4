import { callerOf, openerOf, readRaw } from "./raw-conversation.ts";
import type { FormatName } from "./script.ts";

/** Calls without a result, results without a call, and blocks parted from what they name, each in words, read without any code of the product. */
export function looseEnds(document: unknown, format: FormatName): string[] {
	const messages = readRaw(document, format);
	const answered = new Set<string>();
	const orphans: string[] = [];
	for (const { index, results } of messages) {
		for (const { id } of results) {
			const caller = callerOf(messages, index, id);
			if (caller === undefined) orphans.push(`result ${id}`);
			else answered.add(`${caller} ${id}`);
		}
	}
	const named = new Set<string>();
	for (const { index, names } of messages) {
		for (const id of names) {
			const opener = openerOf(messages, index, id);
			if (opener === undefined) orphans.push(`name ${id}`);
			else named.add(`${opener} ${id}`);
		}
	}
	const open = messages.flatMap(({ index, opens }) =>
		opens.filter((id) => !named.has(`${index} ${id}`)).map((id) => `block ${id}`),
	);
	const calls = messages.flatMap(({ index, calls: made }) =>
		made.filter(({ id }) => !answered.has(`${index} ${id}`)).map(({ id, name }) => `call ${id} of ${name}`),
	);
	return [...orphans, ...open, ...calls];
}

/** What is in the second list more often than in the first. */
export function added(before: readonly string[], after: readonly string[]): string[] {
	const left = [...before];
	return after.filter((one) => {
		const index = left.indexOf(one);
		if (index !== -1) left.splice(index, 1);
		return index === -1;
	});
}
