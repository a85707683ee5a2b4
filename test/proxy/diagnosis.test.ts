import { afterEach, describe, expect, it } from "vitest";
import { policyOf } from "../support/policy-of.ts";
import { playSession } from "../support/session-player.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";
import { startProxyTo } from "./upstream.ts";

const script = { toolTurns: 6, fileChars: 2_000 };
const policy = policyOf({ mask: { enabled: false } });
let provider: StandInProvider;
afterEach(() => provider.close());

async function play(diagnoses: boolean) {
	provider = await startStandInProvider({ script, thinking: { account: "newer" } });
	const proxy = await startProxyTo(provider.origin, { policy, diagnoses });
	const played = await playSession({ baseUrl: proxy.url, script, beforeRequest: () => proxy.settled() });
	expect(played).toMatchObject({ isRight: true, errors: [] });
	return { sent: provider.requests.map(({ body }) => JSON.parse(body)) };
}

describe("cache diagnostics", () => {
	it("are asked for where the proxy is told to, and each request names the answer before it", async () => {
		const { sent } = await play(true);
		const asked = sent.map(({ diagnostics }) => diagnostics?.previous_message_id);
		// A conversation has its name from its first tool turn on.
		expect(asked).toEqual([undefined, null, ...asked.slice(2)]);
		expect(asked.slice(2)).toEqual(sent.slice(2).map((_, index) => `msg_standin${String(index + 2).padStart(5, "0")}`));
	});

	it("are never asked for by default", async () => {
		const { sent } = await play(false);
		expect(sent.some((body) => "diagnostics" in body)).toBe(false);
	});
});
