import { describe, expect, it } from "vitest";
import type { SessionFault } from "../../support/proxied-session.ts";
import { boundModels, expectRightSession, sessionOf, sessionScripts } from "../../support/session-scripts.ts";

describe.each(boundModels)("a session of 60 turns with %s keeps all its valid thinking", (model) => {
	it.each(sessionScripts)("with %s", async (...script) => {
		await expectRightSession(sessionOf(script, model));
	});
});

describe("a fault at any one request costs no request and no valid thinking", () => {
	const turns = 22;
	it.each<SessionFault>(["archive", "memory", "planner"])("of the %s", async (kind) => {
		let total = 0;
		for (let request = 1; request <= turns + 1; request += 1) {
			const script = { toolTurns: turns, fileChars: request % 3 === 0 ? 20_000 : 9_000 };
			total += (await expectRightSession({ script, fault: { kind, request } })).hits;
		}
		expect(total).toBeGreaterThan(turns / 3);
	});
});
