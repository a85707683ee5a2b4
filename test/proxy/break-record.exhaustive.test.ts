import { expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { newBreakRecord, noteRequest } from "../../src/proxy/break-record.ts";
import { readRequest } from "../../src/proxy/host-request.ts";
import { createLedger } from "../../src/proxy/ledger.ts";
import { openEditing, prepare } from "../../src/proxy/sending/editing.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { requestOf, turnsOf } from "./sessions.ts";

const model = "claude-sonnet-4-5";
const route = { api: "anthropic", kind: "edited", upstream: "anthropic" } as const;
const policy = policyOf({ preset: "balanced" });
/** 20 kB of system prompt, 65 kB of tools, and turns of 2 800 characters: up to 200 kB. */
const system = "You are an agent. Read with care. ".repeat(600);
const tools = Array.from({ length: 40 }, (_, tool) => ({
	name: `mcp__server-${tool % 5}__tool_${tool}`,
	description: "It does a thing for you. ".repeat(60),
	input_schema: { type: "object", properties: { path: { type: "string" } } },
}));
const [first, last] = [20, 40];

/** Prints the share of the work on a request that its comparison with the one before takes. */
it.each([
	["only grows", () => ""],
	["has another system prompt each time", (turn: number) => `It is ${turn}.`],
])("a request of 200 kB is compared in little of its time: it %s", async (what, added) => {
	const archive = await openArchive({ where: "memory" });
	const shares: number[] = [];
	for (let round = 0; round < 8; round += 1) {
		const onFault = (_: string, reason: string) => expect(reason).toBeUndefined();
		const editing = await openEditing({ policy, archive, holdout: 0, now: Date.now, onFault });
		const ledger = createLedger({ now: Date.now });
		const record = newBreakRecord();
		let [whole, own] = [0, 0];
		for (let turn = first; turn <= last; turn += 1) {
			const body = JSON.parse(String(requestOf("anthropic", turnsOf(turn, 2_800)).body));
			const text = [{ type: "text", text: system + added(turn), cache_control: { type: "ephemeral" } }];
			const bytes = Buffer.from(JSON.stringify({ ...body, model, system: text, tools }));
			const start = performance.now();
			const read = await readRequest(bytes, {
				encoding: undefined,
				hold: { take: () => true, takeInTurn: async () => true },
				route,
				policy,
				recall: undefined,
				termsOf: (given) => cacheTerms(given, "anthropic", policy.prices, { model }),
				isEnforced: false,
			});
			if (read.kind !== "conversation") throw new Error("Expected a conversation.");
			const prepared = await prepare(read.request, editing);
			await prepared.planAhead();
			const facts = await prepared.facts(prepared.composed);
			const tokens = Math.round(bytes.length / 4);
			const cacheRead = added(turn) === "" && turn > first ? tokens - 900 : 0;
			const usage = { input: 3, cacheRead, cacheWrite: tokens - cacheRead, output: 100 };
			const wasEdited = prepared.composed?.written !== undefined;
			ledger.enter(facts, { api: "anthropic", wasEdited, usage });
			const end = performance.now();
			const found = noteRequest(record, facts, { parts: facts.parts(), usage, number: turn, last: 0 });
			own += performance.now() - end;
			whole += end - start;
			expect(found === undefined).toBe(added(turn) === "" || turn === first);
		}
		shares.push((100 * own) / whole);
	}
	const [median = 0] = shares.toSorted((one, other) => one - other).slice(shares.length / 2);
	process.stdout.write(`${what}: ${median.toFixed(2)} % of the work on a request\n`);
});
