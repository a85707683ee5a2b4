import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isWhole } from "../support/breadth.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { carryOut } from "./carry-out.ts";
import { copiedIn, readDockerfile, type Stage, textsOf, wordsOf } from "./read-dockerfile.ts";

const read = (name: string) => readFile(join(packageFolder, name), "utf8");
const stages = readDockerfile(await read("deploy/Dockerfile"));
const [build, server] = stages as [Stage, Stage];

describe("the Dockerfile", () => {
	it("copies only existing files that .dockerignore allows, which allows no more", async () => {
		const [everything, ...letIn] = (await read(".dockerignore")).split("\n").filter((line) => /^[^#]/.test(line));
		expect(everything).toBe("*");
		const sources = copiedIn(build).flatMap((copied) => copied.sources);
		expect(sources.map((source) => `!${source}`).sort()).toEqual([...letIn].sort());
		for (const source of sources) await stat(join(packageFolder, source));
	});

	it("ends as an unprivileged user, on an image not only for the build", () => {
		expect(stages).toHaveLength(2);
		expect(textsOf(server, "USER")).toEqual(["node"]);
		expect(server.image).toBe(build.image);
		expect(server.image).toMatch(/^node:22[\w.-]*-slim@sha256:[0-9a-f]{64}$/);
		expect(copiedIn(server).every(({ from }) => from === build.alias)).toBe(true);
	});

	it("checks health at the exposed port", () => {
		const address = wordsOf(server, "CMD")[wordsOf(server, "CMD").indexOf("--http") + 1];
		const [, port] = String(address).split(":");
		expect(textsOf(server, "EXPOSE").join(" ").split(" ")).toContain(port);
		expect(textsOf(server, "HEALTHCHECK")[0]).toContain(`http://127.0.0.1:${port}/healthz`);
	});

	// The build is that of the package, which other tests install.
	it.runIf(isWhole)("builds the package from the copied files alone", async () => {
		const folder = await scratchFolder();
		// dockerfile-steps.exhaustive.test.ts goes on with the packages of the image, and with its server.
		const upToBuild = build.instructions.findIndex(({ text }) => text === "npm run build") + 1;
		expect(upToBuild).toBeGreaterThan(0);
		await carryOut({ instructions: build.instructions.slice(0, upToBuild) }, folder);
		for (const name of ["dist", "assets"]) {
			const files = await readdir(join(packageFolder, name), { recursive: true });
			expect((await readdir(join(folder, name), { recursive: true })).sort()).toEqual(files.sort());
		}
	});
});
