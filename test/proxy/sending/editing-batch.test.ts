import { expect, it } from "vitest";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { openEditing, prepareBatch } from "../../../src/proxy/sending/editing.ts";
import type { HostRequest, WrittenEdit } from "../../../src/proxy/sending/request.ts";
import { policyOf } from "../../support/policy-of.ts";
import { memoryArchive } from "../played.ts";
import { requestOf, turnsOf } from "../sessions.ts";

it("reads the notes of other processes once for a batch, and lets others go on between its requests", async () => {
	const policy = policyOf({ preset: "balanced" });
	const onFault = () => {};
	const editing = await openEditing({ policy, archive: await memoryArchive(), holdout: 0, now: () => 0, onFault });
	let reads = 0;
	const findElsewhere: typeof editing.memory.findElsewhere = async (_keys, _wait, { isRead } = {}) => {
		if (!isRead) reads += 1;
		return new Map();
	};
	const requests = Array.from({ length: 50 }, (_, index): HostRequest<readonly WrittenEdit[]> => {
		const body = JSON.parse(String(requestOf("anthropic", turnsOf(1), `Task ${index}.`).body));
		const terms = cacheTerms(body, "anthropic", policy.prices);
		const about = { model: undefined, recall: undefined, decides: false, isEnforced: false };
		return { ...about, body, formats: ["anthropic-messages"], terms, write: (edits) => edits };
	});
	let turns = 0;
	let isOver = false;
	const others = () => {
		turns += 1;
		if (!isOver) setImmediate(others);
	};
	setImmediate(others);
	const written = await prepareBatch(requests, { ...editing, memory: { ...editing.memory, findElsewhere } });
	isOver = true;
	expect([written.length, reads]).toEqual([50, 1]);
	expect(turns).toBeGreaterThanOrEqual(49);
});
