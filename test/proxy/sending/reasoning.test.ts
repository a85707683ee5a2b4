import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Policy } from "../../../src/engine/policy/schema.ts";
import { blocksLeftOut } from "../../../src/proxy/sending/reasoning.ts";
import { policyOf } from "../../support/policy-of.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { sendSettled, startPlayed, statusOf } from "../played.ts";
import { isMasked, textsIn } from "../sessions.ts";
import {
	type Body,
	beta,
	bindingRefusal,
	expectRightBlocks,
	type Json,
	startHost,
	strict,
	thinkingOf,
	thinkingProvider,
} from "../thinking-host.ts";
import type { Received } from "../upstream.ts";

/** Masks after every fourth turn, so that reasoning is produced between two edits. */
const strided = policyOf({
	preset: "balanced",
	mask: { window_turns: 2, selection: "age", cadence: "stride", stride_turns: 4 },
});

const policyWith = (thinking: Policy["thinking"]) => ({ ...strided, thinking });

describe("reasoning that is bound to what came before it", () => {
	it("is left out exactly where an earlier result changed its form later, on a model that always checks", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const [one, other] = [await session.start(), await session.start()];
		const host = startHost();
		// Two proxies in turns, as after a restart.
		for (let turn = 0; turn < 14; turn += 1) await host.turns(turn % 4 ? one : other, 1);
		expect([provider.refused(), provider.accepted.length]).toEqual([0, 14]);
		expect(expectRightBlocks(provider, host)).toBeGreaterThan(20);
		expect(one.totals().reasoningLeftOut).toBeGreaterThan(0);
		expect(session.faults()).toEqual([]);
	});

	it("stays where a result was cut before the model first saw it", async () => {
		const provider = thinkingProvider(strict);
		const policy = policyOf({ preset: "balanced", mask: { enabled: false } });
		const session = await startPlayed({ policy }, provider.answer);
		await startHost().turns(await session.start(), 6, 40_000);
		expect(session.lastBody().length).toBeLessThan(120_000);
		expect(provider.refused()).toBe(0);
		expect(provider.accepted.map(({ body }) => thinkingOf(body).length)).toEqual([0, 1, 2, 3, 4, 5]);
	});

	it("stays in after a rewind and in a fork where it still fits", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const proxy = await session.start();
		const host = startHost();
		await host.turns(proxy, 8);
		host.messages.splice(-6, 6);
		await host.turns(proxy, 9);
		host.messages.splice(-2, 2);
		await host.turns(proxy, 3);
		expect(provider.refused()).toBe(0);
		expect(expectRightBlocks(provider, host)).toBeGreaterThan(8);
	});

	it("stays in for an account that does not check it", async () => {
		const provider = thinkingProvider();
		const session = await startPlayed({ policy: strided }, provider.answer);
		await startHost({ model: "claude-opus-5-5" }).turns(await session.start(), 9);
		expect(session.lastTexts().filter(isMasked).length).toBeGreaterThan(3);
		expect(provider.accepted.map(({ body }) => thinkingOf(body).length)).toEqual([...Array(9).keys()]);
	});

	it("is left out of the same request after one refusal, which is remembered for the account and never its key", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const proxy = await session.start();
		const model = "claude-opus-5-5";
		const host = startHost({ model });
		await host.turns(proxy, 10);
		expect([provider.refused(), provider.accepted.length]).toEqual([1, 10]);
		expect(expectRightBlocks(provider, host)).toBeGreaterThan(8);
		expect((await statusOf(proxy)).requests.sent_again).toBe(1);
		const told = session.events.filter(({ data }) => data.event === "reasoning_enforced");
		expect(told).toHaveLength(1);
		await proxy.close();

		const next = await session.start();
		await startHost({ model, name: "two" }).turns(next, 8);
		expect(provider.refused()).toBe(1);
		await startHost({ model, name: "three", key: "sk-secret-key-2" }).turns(next, 8);
		expect(provider.refused()).toBe(2);
		const names = await readdir(session.memoryFolder);
		expect(names).toContain("accounts.json");
		for (const name of names) {
			expect(await readFile(join(session.memoryFolder, name), "utf8")).not.toMatch(/sk-secret/);
		}
		expect(JSON.stringify(session.events)).not.toContain("sk-secret");
	});

	it("is left out where the host's own request asks for the check, and that field passes unchanged", async () => {
		const provider = thinkingProvider();
		const session = await startPlayed({ policy: strided }, provider.answer);
		const control = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
		const host = startHost({ model: "claude-opus-5-5", more: { thinking: control } });
		await host.turns(await session.start(), 9);
		expect(expectRightBlocks(provider, host)).toBeGreaterThan(8);
		for (const { body } of provider.accepted) expect(body.thinking).toEqual(control);
		for (const { headers } of session.upstream.received) expect(headers["anthropic-beta"]).toBe("context-1m");
	});

	it("is left out of requests that count tokens alike", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const proxy = await session.start();
		const host = startHost();
		await host.turns(proxy, 8);
		const asked = host.request();
		await sendSettled(proxy, asked);
		await sendSettled(proxy, host.request("/v1/messages/count_tokens"));
		const [sent, counted] = session.bodies().slice(-2);
		expect(counted).toBe(sent);
		expect(sent).not.toBe(asked.body);
	});
});

describe("where the provider refuses more reasoning than what no longer fits", () => {
	const edited = (body: Body) => textsIn(body).some(isMasked);

	/** Plays until an edit, and then on. */
	async function playAgainst(refuses: (body: Body, received: Received) => object | undefined, more: Json = {}) {
		const provider = thinkingProvider(refuses);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const proxy = await session.start();
		const host = startHost({ more });
		return { provider, session, proxy, host };
	}

	it("it is asked to leave it out itself, with its beta feature, in all later requests, also of another proxy", async () => {
		const { provider, session, proxy, host } = await playAgainst((body) =>
			edited(body) && thinkingOf(body).length > 0 && body.thinking?.block_binding === undefined
				? bindingRefusal(1)
				: undefined,
		);
		await host.turns(proxy, 8);
		await host.turns(await session.start(), 2);
		expect([provider.refused(), provider.accepted.length]).toEqual([1, 10]);
		const { body } = provider.accepted.at(-1) as { body: Body };
		expect(body.thinking).toEqual({ type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } });
		expect(session.upstream.received.at(-1)?.headers["anthropic-beta"]).toBe(`context-1m,${beta}`);
		expect(thinkingOf(body).length).toBeGreaterThan(0);
	});

	it("and does not support that field, all of it is left out, and later reasoning stays", async () => {
		const extra = { type: "invalid_request_error", message: "thinking.block_binding: Extra inputs are not permitted" };
		const { provider, proxy, host } = await playAgainst((body) => {
			if (body.thinking?.block_binding !== undefined) return extra;
			const isFirst = provider.refused() === 0 && edited(body) && thinkingOf(body).length > 0;
			return isFirst ? bindingRefusal(1) : strict(body);
		});
		await host.turns(proxy, 9);
		expect(provider.accepted).toHaveLength(9);
		const counts = provider.accepted.map(({ body }) => thinkingOf(body).length);
		expect([provider.refused(), counts.at(-2), counts.at(-1)]).toEqual([2, 0, 1]);
	});

	it("and all forms, the refusal is passed on, and the next request is edited as before", async () => {
		let refuses = false;
		const { provider, session, proxy, host } = await playAgainst((body) =>
			refuses ? bindingRefusal(3) : strict(body),
		);
		await host.turns(proxy, 7);
		const before = session.lastTexts().filter(isMasked).length;
		refuses = true;
		const got = await host.turn(proxy);
		expect([got.status, JSON.parse(got.body.toString()).error]).toEqual([400, bindingRefusal(3)]);
		const asked = provider.refused();
		expect(asked).toBeGreaterThan(1);
		refuses = false;
		await host.turns(proxy, 2);
		expect(session.lastTexts().filter(isMasked).length).toBeGreaterThan(before);
		expect(provider.refused()).toBe(asked);
	});

	it("before the first tool turn, the refusal is passed on, and nothing else is sent", async () => {
		const provider = thinkingProvider(() => bindingRefusal(1));
		const session = await startPlayed({ policy: strided }, provider.answer);
		const got = await startHost().turn(await session.start());
		expect([got.status, provider.refused()]).toEqual([400, 1]);
	});

	const unknownControl = {
		type: "invalid_request_error",
		message: "thinking.block_binding: Extra inputs are not permitted",
	};
	const refusesControl = (body: Body) => (body.thinking?.block_binding === undefined ? strict(body) : unknownControl);

	it.each([
		{ name: "knows the control that drops blocks", refuses: strict, refused: 1 },
		{ name: "does not know the control that drops blocks", refuses: refusesControl, refused: 2 },
	])("a session with lost states goes on, at a provider that $name", async ({ refuses, refused }) => {
		const provider = thinkingProvider(refuses);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const host = startHost();
		await host.turns(await session.start(), 9);
		expect(session.lastTexts().filter(isMasked).length).toBeGreaterThan(3);
		expect(provider.refused()).toBe(0);
		// Nothing in the first request of the new process is edited: results that are there already count as sent whole.
		const forgetful = await session.start({ memoryFolder: await scratchFolder() });
		await host.turns(forgetful, 1);
		expect(provider.refused()).toBe(refused);
		await host.turns(forgetful, 5);
		expect(provider.accepted).toHaveLength(15);
	});

	it("a refused count of changed messages takes no reasoning out of later requests", async () => {
		const provider = thinkingProvider(refusesControl);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const proxy = await session.start();
		const host = startHost();
		await host.turns(proxy, 3);
		const kept = [...host.messages];
		const cleared = {
			role: "user",
			content: JSON.parse(JSON.stringify(kept[2]?.content).replace(/"content":"/, "$&-")),
		};
		host.messages.splice(2, 1, cleared);
		expect((await sendSettled(proxy, host.request("/v1/messages/count_tokens"))).status).toBe(200);
		host.messages.splice(2, 1, kept[2] as (typeof kept)[number]);
		await host.turns(proxy, 1);
		expect(provider.accepted.map(({ body }) => thinkingOf(body).length)).toEqual([0, 1, 2, 3]);
	});

	it("a conversation that is held out gets the refusal, and nothing else is sent", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: strided }, provider.answer);
		const host = startHost();
		await host.turns(await session.start(), 9);
		const got = await host.turn(await session.start({ memoryFolder: await scratchFolder(), holdout: 1 }));
		expect([got.status, provider.refused()]).toEqual([400, 1]);
	});

	it("a refusal of something else in a request without an edit is passed on, and nothing else is sent", async () => {
		let refuses = false;
		const error = { type: "invalid_request_error", message: "messages: something in it is not permitted" };
		const provider = thinkingProvider(() => (refuses ? error : undefined));
		const session = await startPlayed({ policy: policyWith("refuse") }, provider.answer);
		const proxy = await session.start();
		const host = startHost();
		await host.turns(proxy, 3);
		refuses = true;
		expect([(await host.turn(proxy)).status, provider.refused()]).toEqual([400, 1]);
	});
});

describe("reasoning that was left out", () => {
	const block = (key: string, produced: number, model?: string) => {
		return { key, produced, model, path: ["messages", produced], message: produced };
	};
	const usual = [block("a", 1), block("b", 2), block("c", 3), block("d", 8)];
	const leftOut = (keys: readonly string[], blocks = usual) => {
		const known = new Map(keys.map((key) => [key, 5]));
		return blocksLeftOut({ blocks, changes: [], leftOut: known, number: 9, model: "one" }).map(({ key }) => key);
	};

	it("takes those behind it that are older with it where it leaves a gap", () => {
		expect(leftOut(["b", "c"])).toEqual(["b", "c"]);
		// The last was produced while the one before it was still there.
		expect(leftOut(["b"])).toEqual(["b", "c", "d"]);
	});

	it("takes no others with it at the start, as where a fork with the same start has lost its reasoning", () => {
		expect(leftOut(["a"])).toEqual(["a"]);
		expect(leftOut(["a", "b"])).toEqual(["a", "b"]);
	});

	it("takes none of another model with it, which was not shown to that model", () => {
		expect(leftOut(["b"], [block("a", 1, "two"), block("b", 2), block("c", 3)])).toEqual(["b"]);
		expect(leftOut(["b"], [block("a", 1), block("b", 2), block("c", 3, "two")])).toEqual(["b"]);
		expect(leftOut(["b"], [block("a", 1, "one"), block("b", 2), block("c", 3, "one")])).toEqual(["b", "c"]);
	});
});

describe("the policy for reasoning", () => {
	it("`keep` leaves it in, also on a model that checks it", async () => {
		const provider = thinkingProvider();
		const session = await startPlayed({ policy: policyWith("keep") }, provider.answer);
		await startHost().turns(await session.start(), 9);
		expect(session.lastTexts().filter(isMasked).length).toBeGreaterThan(3);
		expect(provider.accepted.map(({ body }) => thinkingOf(body).length)).toEqual([...Array(9).keys()]);
	});

	it("`keep` gives way to a refusal, since a session that worked must go on", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: policyWith("keep") }, provider.answer);
		await startHost().turns(await session.start(), 9);
		expect([provider.refused(), provider.accepted.length]).toEqual([1, 9]);
	});

	it("`strip_after_edit` leaves out what an edit makes invalid, on any model", async () => {
		const provider = thinkingProvider();
		const session = await startPlayed({ policy: policyWith("strip_after_edit") }, provider.answer);
		const host = startHost({ model: "claude-sonnet-4-5" });
		await host.turns(await session.start(), 9);
		expect(expectRightBlocks(provider, host)).toBeGreaterThan(8);
	});

	it("`refuse` masks nothing that reasoning hangs on", async () => {
		const provider = thinkingProvider(strict);
		const session = await startPlayed({ policy: policyWith("refuse") }, provider.answer);
		await startHost().turns(await session.start(), 9);
		expect(provider.refused()).toBe(0);
		expect(provider.accepted.map(({ body }) => thinkingOf(body).length)).toEqual([...Array(9).keys()]);
		expect(session.bodies().flatMap((body) => textsIn(JSON.parse(body)).filter(isMasked))).toEqual([]);
	});
});
