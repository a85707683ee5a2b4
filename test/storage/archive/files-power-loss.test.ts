import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createRandom } from "../../bench/random.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

/** What the product did to files, in order. */
type Step =
	| { readonly did: "make"; readonly folder: string }
	| { readonly did: "create" | "write" | "remove"; readonly file: string; readonly bytes?: Buffer }
	| { readonly did: "rename"; readonly file: string; readonly to: string }
	| { readonly did: "sync"; readonly path: string }
	| { readonly did: "promise"; readonly ref: string; readonly text: string };

const recorded = vi.hoisted(() => ({ steps: [] as Step[] }));

vi.mock("node:fs/promises", async (load) => {
	const real = await load<typeof import("node:fs/promises")>();
	const { steps } = recorded;
	return {
		...real,
		async mkdir(...given: Parameters<typeof real.mkdir>) {
			const first = await real.mkdir(...given);
			const [folder, options] = given;
			const isRecursive = typeof options === "object" && options?.recursive === true;
			const made: string[] = [];
			for (let at = String(folder); isRecursive ? first !== undefined : made.length === 0; at = dirname(at)) {
				made.unshift(at);
				if (at === first) break;
			}
			steps.push(...made.map((one): Step => ({ did: "make", folder: one })));
			return first;
		},
		async open(...given: Parameters<typeof real.open>) {
			const path = String(given[0]);
			const isNew =
				typeof given[1] === "number" && (given[1] & 0o100) !== 0 && !(await real.stat(path).catch(() => false));
			const handle = await real.open(...given);
			if (isNew) steps.push({ did: "create", file: path });
			const { sync, writeFile: write } = handle;
			handle.sync = async () => {
				// Texts that are synced after they were stored are late, so that others find them unsynced.
				if (given[1] === real.constants.O_RDWR) await new Promise((resolve) => setTimeout(resolve, 50));
				await sync.call(handle);
				steps.push({ did: "sync", path });
			};
			handle.writeFile = (async (bytes: Buffer) => {
				await write.call(handle, bytes);
				steps.push({ did: "write", file: path, bytes: Buffer.from(bytes) });
			}) as typeof handle.writeFile;
			return handle;
		},
		async rename(from: string, to: string) {
			await real.rename(from, to);
			steps.push({ did: "rename", file: from, to });
		},
		async rm(...given: Parameters<typeof real.rm>) {
			await real.rm(...given);
			steps.push({ did: "remove", file: String(given[0]) });
		},
	};
});

beforeEach(() => {
	recorded.steps.splice(0);
});

interface Content {
	bytes: Buffer;
	/** The bytes that are on the disk. */
	synced: Buffer;
}

/**
 * What is on the disk when the power fails after these steps, by the least that POSIX promises: of a file what was synced,
 * of a folder the names that it had when it was synced. What was not synced may be there or not, as `survives` says.
 */
function diskAfter(steps: readonly Step[], survives: () => boolean): Map<string, Buffer | "folder"> {
	const now = new Map<string, Content | "folder">();
	const kept = new Map<string, Content | "folder">();
	const inside = (folder: string, tree: ReadonlyMap<string, unknown>) =>
		[...tree.keys()].filter((path) => dirname(path) === folder);
	for (const step of steps) {
		if (step.did === "make") now.set(step.folder, "folder");
		else if (step.did === "create") now.set(step.file, { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) });
		else if (step.did === "remove") now.delete(step.file);
		else if (step.did === "write") {
			const file = now.get(step.file) as Content;
			file.bytes = Buffer.concat([file.bytes, step.bytes ?? Buffer.alloc(0)]);
		} else if (step.did === "rename") {
			now.set(step.to, now.get(step.file) as Content);
			now.delete(step.file);
		} else if (step.did === "sync") {
			const file = now.get(step.path);
			if (file !== undefined && file !== "folder") file.synced = file.bytes;
			else {
				for (const path of inside(step.path, kept)) if (!now.has(path)) kept.delete(path);
				for (const path of inside(step.path, now)) kept.set(path, now.get(path) as Content);
			}
		}
	}
	for (const path of new Set([...kept.keys(), ...now.keys()])) {
		if (kept.get(path) === now.get(path) || !survives()) continue;
		const current = now.get(path);
		if (current === undefined) kept.delete(path);
		else kept.set(path, current);
	}
	const isReached = (path: string, root: string): boolean =>
		dirname(path) === root || (kept.get(dirname(path)) === "folder" && isReached(dirname(path), root));
	// The power failed before anything was written.
	if (now.size === 0) return new Map();
	const root = dirname([...now.keys()].reduce((short, path) => (path.length < short.length ? path : short)));
	const there = [...kept].filter(([path]) => isReached(path, root));
	return new Map(there.map(([path, one]) => [path, one === "folder" ? one : survives() ? one.bytes : one.synced]));
}

it("keeps every original that it has promised when the power fails at any moment", async () => {
	const seed = Date.now() % 1_000_000;
	const random = createRandom(seed);
	const folder = join(await scratchFolder(), "archive");
	const { steps } = recorded;
	const open = async () => {
		const archive = await openArchive({ where: folder });
		if (!archive) throw new Error("no archive");
		return archive;
	};
	const put = async (archive: Awaited<ReturnType<typeof open>>, texts: readonly string[], isHeldElsewhere = false) => {
		const originals = texts.map((text) => ({ text, kind: "result", toolCallId: `call ${texts.length}` }) as const);
		const refs = await archive.put(originals, { isHeldElsewhere });
		return refs.map((ref, index): Step => ({ did: "promise", ref, text: texts[index] ?? "" }));
	};
	const [one, other, proxy] = [await open(), await open(), await open()];
	const late: Step[] = [];
	for (let round = 0; round < 8; round += 1) {
		const texts = Array.from({ length: 1 + (round % 3) }, (_, index) => `text ${round} ${index} `.repeat(40));
		// Another process finds some of the texts there, and some were stored without waiting for the disk.
		late.push(...(await put(proxy, [texts[0] as string, `of the proxy ${round}`], true)));
		const others = put(other, [...texts.slice(1), `of the other ${round}`]);
		for (const puts of [put(one, texts), others]) steps.push(...(await puts));
	}
	await proxy.close();
	steps.push(...late);
	const promises = steps.flatMap((step, at) => (step.did === "promise" ? [{ ...step, at }] : []));
	expect(promises.length).toBeGreaterThan(20);
	for (let failure = 0; failure < 32; failure += 1) {
		const at = Math.floor(random() * (steps.length + 1));
		const share = [0, 0, 0.5, 1][failure % 4] as number;
		const disk = diskAfter(steps.slice(0, at), () => random() < share);
		const copy = join(await scratchFolder(), "archive");
		for (const [path, what] of [...disk].sort(([a], [b]) => a.length - b.length)) {
			const to = copy + path.slice(folder.length);
			if (what === "folder") await mkdir(to, { recursive: true });
			else await writeFile(to, what);
		}
		const archive = await openArchive({ where: copy });
		for (const { ref, text } of promises.filter((promise) => promise.at < at)) {
			const found = await archive?.get(ref).catch(({ code }: { code: string }) => ({ text: code }));
			if (found?.text !== text) expect.fail(`${ref} of step ${at}, seed ${seed}: ${found?.text.slice(0, 40)}`);
		}
		await archive?.close();
	}
	await Promise.all([one.close(), other.close()]);
}, 90_000);
