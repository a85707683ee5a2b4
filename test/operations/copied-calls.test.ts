import { expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { startCopiedCalls } from "../../src/operations/copied-calls.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { policyOf } from "../support/policy-of.ts";

type Session = readonly Record<string, unknown>[];
type Kind = "codex" | "claude";
const kinds: readonly Kind[] = ["codex", "claude"];
const begun = Date.UTC(2026, 8, 20);

/** Turns with a call each; the words of a fork come from its own name, also where it repeats the work of another. */
function turn(kind: Kind, name: string, number: number): Session {
	const output = Array.from({ length: 40 }, (_, line) => `${name}${number} object ${line}`).join("\n");
	const id = `call_Qm7x2${name}9Zt4${number}`;
	if (kind === "codex")
		return [
			{ type: "event_msg", payload: { type: "task_started" } },
			{
				type: "response_item",
				payload: { type: "function_call", name: "exec", arguments: `{"cmd":"make ${name}${number}"}`, call_id: id },
			},
			{ type: "response_item", payload: { type: "function_call_output", call_id: id, output } },
			{ type: "event_msg", payload: { type: "token_count", info: null } },
		];
	const usage = {
		input_tokens: 4,
		cache_read_input_tokens: 9_000,
		cache_creation_input_tokens: 900,
		output_tokens: 20,
	};
	const content = [{ type: "tool_use", id, name: "Bash", input: { command: `make ${name}${number}` } }];
	const message = { id: `msg_${name}${number}`, role: "assistant", model: "claude-sonnet-4-5", content, usage };
	const result = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: output }] };
	return [
		{ type: "assistant", message },
		{ type: "user", message: result },
	];
}

function opening(kind: Kind): Session {
	const text = "Build all parts and tell me what fails.";
	return kind === "codex"
		? [
				{
					type: "response_item",
					payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
				},
			]
		: [{ type: "user", message: { role: "user", content: text } }];
}

function turns(kind: Kind, name: string, count: number): Session {
	return Array.from({ length: count }, (_, number) => turn(kind, name, number)).flat();
}

/** As programs write a file: with the id of the session and new times, linked in a row. */
function written(kind: Kind, id: string, records: Session): unknown[] {
	const meta = { type: "session_meta", payload: { id, timestamp: new Date(begun).toISOString(), cwd: "/work" } };
	return (kind === "codex" ? [meta, ...records] : records).map((record, index) => ({
		...record,
		timestamp: new Date(begun + index * 1_000).toISOString(),
		...(kind === "claude"
			? { sessionId: id, uuid: `${id}-${index}`, parentUuid: index === 0 ? null : `${id}-${index - 1}` }
			: {}),
	}));
}

/** A session of 6 calls, a fork of it with 3 more, a fork of the fork after its first call, and a fork after 2 calls. */
function family(kind: Kind): Record<string, unknown[]> {
	const parent = [...opening(kind), ...turns(kind, "part", 6)];
	const perTurn = turn(kind, "part", 0).length;
	const fork = [...parent, ...turns(kind, "fork", 3)];
	const ofFork = [...parent, ...turns(kind, "fork", 1), ...turns(kind, "deep", 2)];
	const early = [...parent.slice(0, 1 + 2 * perTurn), ...turns(kind, "early", 4)];
	const all = { parent, fork, ofFork, early };
	return Object.fromEntries(Object.entries(all).map(([name, records]) => [name, written(kind, name, records)]));
}

const made = 6 + 3 + 2 + 4;

const orders = [
	["parent", "fork", "ofFork", "early"],
	["early", "ofFork", "fork", "parent"],
	["fork", "parent", "early", "ofFork"],
	["ofFork", "early", "parent", "fork"],
];

async function replayed(sessions: readonly unknown[][]) {
	const policies = await replayedPolicies("raw,window:1,balanced,clear:2000:1:0", []);
	const replay = await startReplay({ policy: policyOf(), policies });
	for (const [index, conversation] of sessions.entries()) await replay.add({ file: `${index}.jsonl`, conversation });
	return { report: replay.report(), copied: replay.copied() };
}

it.each(kinds)("bills each call of forks of %s once, in any order of the files", async (kind) => {
	const sessions = family(kind);
	const bills = await Promise.all(orders.map((order) => replayed(order.map((name) => sessions[name] as unknown[]))));
	const [first] = bills as [(typeof bills)[number]];
	for (const { report, copied } of bills) {
		for (const { llm_calls, bound_with_faults, ratio_with_faults } of report.policies) {
			expect(llm_calls).toBe(made);
			expect(bound_with_faults).toBeLessThanOrEqual(ratio_with_faults + 1e-9);
		}
		expect(copied).toBe(6 + 9 + 9 + 6 - made);
		const [raw] = report.policies;
		for (const figure of ["input_tokens", "cached_tokens", "output_tokens"] as const) {
			expect(raw?.[figure]).toBe(first.report.policies[0]?.[figure]);
		}
		expect(raw?.billed).toBeCloseTo(first.report.policies[0]?.billed ?? 0, 9);
	}
});

it("knows a fork with numbered ids and new times by the session that it names, in any order of the files", () => {
	const numbered = (records: Session) =>
		JSON.parse(JSON.stringify(records).replaceAll(/call_Qm7x2(\w+?)9Zt4/g, "call_$1"));
	const session = (name: string, records: Session, began: number, from?: string) => {
		const meta = {
			type: "session_meta",
			payload: { id: name, cwd: "/work", ...(from ? { forked_from_id: from } : {}) },
		};
		return [meta, ...numbered(records)].map((record, index) => ({
			...record,
			timestamp: new Date(begun + began + index * 500).toISOString(),
		}));
	};
	const parent = [...opening("codex"), ...turns("codex", "part", 6)];
	const fork = [...parent, ...turns("codex", "fork", 3)];
	const sessions = {
		parent: session("parent", parent, 0),
		fork: session("fork", fork, 90_000, "parent"),
		// A head that names nothing, with that of its origin behind it.
		ofFork: session(
			"ofFork",
			[{ type: "session_meta", payload: { id: "fork" } }, ...fork, ...turns("codex", "deep", 2)],
			95_000,
		),
	};
	const own = (order: readonly (keyof typeof sessions)[]) => {
		const copies = startCopiedCalls();
		return order.map((name) => {
			const source = readConversation(sessions[name]);
			const { messages } = source.transcript;
			const answers = messages.slice(copies.add(source)).filter(({ role }) => role === "assistant").length;
			return answers;
		});
	};
	expect(own(["parent", "fork", "ofFork"])).toEqual([6, 3, 2]);
	expect(own(["ofFork", "fork", "parent"])).toEqual([11, 0, 0]);
	expect(own(["fork", "parent", "ofFork"])).toEqual([9, 0, 2]);
	// Two runs of one task, of which none names the other.
	const again = startCopiedCalls();
	const runs = [0, 90_000].map((began) => readConversation(session("run", parent, began)));
	expect(runs.map((run) => again.add(run))).toEqual([0, 0]);
});

it.each(kinds)("bills the own calls of a fork of %s as in a session of its own", async (kind) => {
	const { parent = [], fork = [] } = family(kind);
	const [alone, both] = [await replayed([fork]), await replayed([parent, fork])];
	const [copy] = [await replayed([parent])];
	const figure = (bill: typeof alone, of: "input_tokens" | "cached_tokens") => bill.report.policies[0]?.[of] ?? 0;
	// The fork holds all calls of its parent, so that both together cost what the fork alone costs.
	for (const of of ["input_tokens", "cached_tokens"] as const) expect(figure(both, of)).toBe(figure(alone, of));
	const [, own] = both.report.files;
	expect(own?.policies[0]?.llm_calls).toBe(3);
	expect(own?.policies[0]?.input_tokens).toBeCloseTo(
		figure(alone, "input_tokens") - figure(copy as typeof alone, "input_tokens"),
		-1,
	);
});

it("keeps sessions that only begin with the same words", () => {
	const hello = [
		{ role: "user", content: "Hello" },
		{ role: "assistant", content: "Hello! How can I help?" },
	];
	const source = readConversation(hello);
	const copies = startCopiedCalls();
	expect([copies.add(source), copies.add(source)]).toEqual([0, 0]);
	const long = [
		...hello,
		{ role: "user", content: "Why?" },
		{ role: "assistant", content: "Since it is so. ".repeat(20) },
	];
	expect([copies.add(readConversation(long)), copies.add(readConversation(long))]).toEqual([0, 4]);
});

it("counts answers with one message id and several ids of requests, and takes the message id where there is none", () => {
	const session = (requestId: string | undefined) => {
		return written("claude", "same", [...opening("claude"), ...turns("claude", "part", 1)]).map((record) => ({
			...(record as object),
			requestId,
		}));
	};
	const start = (requestId: string | undefined) => readConversation(session(requestId));
	const copies = startCopiedCalls();
	const starts = ["req_1", "req_2", "req_1", undefined, undefined].map((id) => copies.add(start(id)));
	expect(starts).toEqual([0, 0, 2, 0, 2]);
});

it("keeps the calls of a subagent in a file of its own", () => {
	const session = written("claude", "main", [...opening("claude"), ...turns("claude", "part", 3)]);
	const side = written("claude", "side", [...opening("claude"), ...turns("claude", "side", 3)]).map((record) => {
		return { ...(record as object), isSidechain: true, agentId: "a1" };
	});
	const copies = startCopiedCalls();
	expect([session, side].map((one) => copies.add(readConversation(one)))).toEqual([0, 0]);
});

it("counts the calls of one conversation with two models, each in its request, twice", () => {
	const body = (model: string) => {
		const call = { id: "call_9hKz2Qm7", type: "function", function: { name: "list", arguments: "{}" } };
		const messages = [
			{ role: "user", content: "Hello" },
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: "call_9hKz2Qm7", content: "a.txt" },
		];
		return readConversation({ model, messages });
	};
	const copies = startCopiedCalls();
	expect(["one", "two", "one"].map((model) => copies.add(body(model)))).toEqual([0, 0, 2]);
});

it("keeps two runs of one task whose first calls are the same: with numbered ids, or at other times", () => {
	const answer = "I list the files, read those that the task names and then say what I have found. ".repeat(5);
	const run = (id: string, began?: number) => {
		const call = { id, type: "function", function: { name: "list", arguments: "{}" } };
		const messages = [
			{ role: "user", content: "Which files are there?" },
			{ role: "assistant", content: answer, tool_calls: [call] },
			{ role: "tool", tool_call_id: id, content: "a.txt" },
		];
		const source = readConversation({ model: "one", messages });
		const timed = source.transcript.messages.map((message, at) => ({ ...message, time: (began ?? 0) + at * 1_000 }));
		return began === undefined ? source : { ...source, transcript: { ...source.transcript, messages: timed } };
	};
	const added = (...runs: ReturnType<typeof run>[]) => {
		const copies = startCopiedCalls();
		return runs.map((one) => copies.add(one));
	};
	for (const id of ["call_0", "bash#1", "functions.list:2"]) expect(added(run(id), run(id))).toEqual([0, 0]);
	expect(added(run("call_0", 5), run("call_0", 9), run("call_0", 5))).toEqual([0, 0, 2]);
	expect(added(run("call_9hKz2Qm7", 5), run("call_9hKz2Qm7", 9))).toEqual([0, 2]);
});
