import { afterAll, describe, expect, it } from "vitest";
import { boundModels, expectRightSession, sessionOf, sessionScripts } from "../support/session-scripts.ts";

let edited = 0;

describe("a session of 60 turns keeps all its valid thinking", () => {
	// The exhaustive tests play all of them on both models.
	const played = sessionScripts
		.filter((_, index) => index % 2 === 0)
		.map((script, index) => ({
			name: script[0],
			model: boundModels[index % boundModels.length] as string,
			script,
		}));
	it.each(played)("with $name, on $model", async ({ model, script }) => {
		edited += (await expectRightSession(sessionOf(script, model))).edited;
	});
});

afterAll(() => {
	expect(edited).toBeGreaterThan(100);
});
