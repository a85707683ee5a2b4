/** An instruction of a Dockerfile with its continued lines put together. */
export interface Instruction {
	readonly name: string;
	readonly text: string;
}

/** One of a Dockerfile's stages. */
export interface Stage {
	readonly image: string;
	readonly alias: string | undefined;
	readonly instructions: readonly Instruction[];
}

/** What a COPY copies. */
export interface Copied {
	/** The stage that it copies from; `undefined` for the folder of the checkout. */
	readonly from: string | undefined;
	readonly sources: readonly string[];
	readonly target: string;
}

/** Reads a Dockerfile as far as ours goes: no heredocs, no escapes but at the end of a line. */
export function readDockerfile(text: string): Stage[] {
	const lines = text.replace(/^\s*#.*\n/gm, "").replace(/\\\n\s*/g, "");
	const stages: { image: string; alias: string | undefined; instructions: Instruction[] }[] = [];
	for (const line of lines.split("\n").filter((one) => one.trim() !== "")) {
		const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
		if (name === "") throw new Error(`Expected an instruction, got ${line}`);
		if (name !== "FROM") stages.at(-1)?.instructions.push({ name, text: rest });
		else {
			const [image = "", , alias] = rest.split(/\s+/);
			stages.push({ image, alias, instructions: [] });
		}
	}
	return stages;
}

/** What the COPY instructions of a stage copy. */
export function copiedIn(stage: Stage): Copied[] {
	return textsOf(stage, "COPY").map((text) => {
		const words = text.split(/\s+/);
		const options = words.filter((word) => word.startsWith("--"));
		const paths = words.filter((word) => !word.startsWith("--"));
		const from = options.find((option) => option.startsWith("--from="))?.slice("--from=".length);
		return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? "" };
	});
}

/** The texts of the instructions of that name. */
export function textsOf(stage: Stage, name: string): string[] {
	return stage.instructions.filter((one) => one.name === name).map(({ text }) => text);
}

/** The words of the one instruction of that name in its JSON form. */
export function wordsOf(stage: Stage, name: string): string[] {
	return JSON.parse(textsOf(stage, name)[0] ?? "[]") as string[];
}
