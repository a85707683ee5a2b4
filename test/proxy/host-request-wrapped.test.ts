import { afterEach, expect, it } from "vitest";
import { startProxy } from "../../src/proxy/server.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/scripted-session.ts";
import { googleProject, googleToken } from "../support/sign-ins.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";

type Json = Record<string, unknown>;

let provider: StandInProvider;
afterEach(() => provider.close());

const script = { toolTurns: 30, fileChars: 12_000 };
const parameters = { type: "object", properties: { command: { type: "string" } } };
const tools = [{ functionDeclarations: [{ name: "run_shell_command", parameters }] }];

/** A session as Gemini CLI sends it with a Google sign-in. Returns the last answer. */
async function playSession(origin: string): Promise<string> {
	const contents: Json[] = [{ role: "user", parts: [{ text: "Read every module." }] }];
	const headers = { authorization: `Bearer ${googleToken}`, "content-type": "application/json" };
	for (;;) {
		const request = { contents, tools, session_id: "one" };
		const body = { model: "gemini-2.5-pro", project: googleProject, user_prompt_id: "p", request };
		const url = `${origin}/v1internal:generateContent`;
		const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
		const { response } = (await answer.json()) as { response: { candidates: { content: { parts: Json[] } }[] } };
		const content = response.candidates[0]?.content;
		const [part = {}] = content?.parts ?? [];
		const call = part.functionCall as { name: string; args: { command: string } } | undefined;
		if (call === undefined) return String(part.text);
		contents.push(content as Json);
		const output = { output: outputOf(script, call.args.command) };
		contents.push({ role: "user", parts: [{ functionResponse: { name: call.name, response: output } }] });
	}
}

it("masks in the request that a Google sign-in wraps, and leaves the wrapper", async () => {
	provider = await startStandInProvider({ script, checksPairing: true });
	const archive = await openArchive({ where: "memory" });
	const upstreams = { gemini: provider.origin };
	const proxy = await startProxy({ port: 0, upstreams, policy: policyOf({ preset: "balanced" }), archive });
	expect(await playSession(`http://127.0.0.1:${proxy.port}`)).toContain("Saw 30 of 30 files.");
	await proxy.close();
	expect(provider.refusals).toEqual([]);
	const last = JSON.parse(provider.requests.at(-1)?.body ?? "{}");
	expect(last).toMatchObject({
		model: "gemini-2.5-pro",
		project: googleProject,
		request: { session_id: "one", tools },
	});
	const masked = JSON.stringify(last.request.contents).match(/\[masked run_shell_command/g) ?? [];
	expect(masked.length).toBeGreaterThan(5);
	// The usage of an answer is in the wrapper too.
	const { billed, billedUnedited } = proxy.totals();
	expect(billed).toBeLessThan(billedUnedited);
});
