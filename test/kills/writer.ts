import { writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { StateChange } from "../../src/proxy/sending/notes.ts";
import { createRandom } from "../bench/random.ts";

/**
 * Where a writer keeps texts. The memory is that of the proxy: the forms in which results are sent. A figure holds a number in
 * place of a text.
 */
export const places = ["files", "redis", "memory", "figures"] as const;

export type Place = (typeof places)[number];

/** The text that a writer of this name keeps as this one; every third is that of every writer. */
export function textOf(name: string, index: number): string {
	const isShared = index % 3 === 0;
	const random = createRandom(isShared ? index : index * 1_009 + Number.parseInt(name.replace(/\D/g, ""), 10));
	const size = Math.floor(random() ** 6 * 40_000);
	return `${isShared ? "shared" : name} ${index} é 结果 ${random()
		.toString(36)
		.repeat(Math.ceil(size / 12))}`;
}

export const conversationOf = (name: string) => Buffer.from(name).toString("hex").padEnd(32, "0").slice(0, 32);

/** A result that is sent as this text. */
function stateOf(key: string, text: string): StateChange {
	const result = { callId: undefined, texts: [], media: [] } as unknown as StateChange["result"];
	const values = new Map([["whole", () => text]] as const);
	return { key, result, state: { kind: "masked", since: 1, at: 1, changed: 1, values } };
}

/**
 * Keeps texts until it is killed, and says of each that it is kept: `node writer.js PLACE WHERE NAME,NAME [MODULE]`. Each
 * writer has an archive of its own and keeps one text after the other, all of them at the same time.
 */
async function write([place, where = "", names = "", module]: readonly string[]): Promise<void> {
	const write = async (name: string): Promise<never> => {
		const keep = await keeperOf(place as Place, { where, name, module });
		writeSync(1, "ready\n");
		for (let index = 0; ; index += 1) {
			const said = await keep(textOf(name, index), index);
			writeSync(1, `${name} ${index} ${said}\n`);
		}
	};
	await Promise.all(names.split(",").map(write));
}

async function keeperOf(
	place: Place,
	{ where, name, module }: { readonly where: string; readonly name: string; readonly module: string | undefined },
): Promise<(text: string, index: number) => Promise<string>> {
	if (place === "memory") {
		const { createMemory } = await import("../../src/proxy/sending/memory.ts");
		const { createFilesJournal } = await import("../../src/proxy/sending/journal-files.ts");
		const memory = createMemory({ journal: createFilesJournal({ folder: where, now: Date.now }), now: Date.now });
		return async (text, index) => {
			await memory.note(conversationOf(name), { number: index + 1, states: [stateOf(`key ${index}`, text)] });
			return "kept";
		};
	}
	if (place === "figures") {
		const { openFigures } = await import("../../src/storage/figures/store.ts");
		const figures = openFigures({ keep: "all", program: name, folder: where });
		return async (_, index) => {
			figures.add({ kind: "ping", billed: index + 1 });
			return "kept";
		};
	}
	// Another build of the package, by the file that its users import.
	const { openArchive } =
		module === undefined
			? await import("../../src/storage/archive/open.ts")
			: ((await import(pathToFileURL(module).href)) as typeof import("../../src/index.ts"));
	const archive = await openArchive({ where });
	return async (text, index) => {
		const [ref] =
			(await archive?.put([{ text, kind: "result", toolCallId: `call ${index % 7}`, toolName: name }])) ?? [];
		return ref as string;
	};
}

if (process.argv[1]?.endsWith("writer.js")) await write(process.argv.slice(2));
