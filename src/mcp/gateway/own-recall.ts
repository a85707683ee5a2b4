import type { PolicyLayer } from "../../engine/policy/schema.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Archive } from "../../storage/archive/archive.ts";
import type { ArchiveSource } from "../../storage/archive/open.ts";
import { createFileAccess } from "../../storage/files/access.ts";
import { toolDefinition } from "../offer.ts";
import { runTool, type Tool, type ToolOutcome } from "../tool.ts";
import { recallOriginal } from "../tools.ts";

/** The tool that a gateway adds to those of its server. */
const recallTool: Tool = {
	...recallOriginal,
	description:
		"Reads the original of a result that was shortened, by the ref= in its notice: kept intact, no error. Whole, in part, or found by query, in max_tokens (2000).",
	inputSchema: recallOriginal.inputSchema.omit({ tool_call_id: true }) as Tool["inputSchema"],
};

export function recallDefinition(name: string): unknown {
	return toolDefinition({ ...recallTool, name });
}

/** Answers a call of the added tool. Never throws. */
export function runRecall(call: {
	readonly arguments: unknown;
	readonly layers: readonly PolicyLayer[];
	readonly archive: ArchiveSource | undefined;
	/** Of its server, or of all servers behind this gateway. */
	readonly owners: readonly string[];
	readonly log: Log;
}): Promise<ToolOutcome> {
	const { archive, owners, layers, log } = call;
	const files = createFileAccess({ workingDirectory: process.cwd(), folders: [], roots: async () => [] });
	return runTool({
		tool: recallTool,
		arguments: call.arguments,
		context: { layers, log, files },
		archive: archive && { use: (work) => archive.use((opened) => work(ownOriginals(opened, owners))) },
	});
}

/** The id under which an original is archived, so that it is known as one of a server's own results. */
export function ownId(owner: string, ref: string): string {
	return `gateway:${owner}:${ref}`;
}

/**
 * The originals of a gateway's servers. Their texts may hold any reference, and a model may follow it: it must not lead to the results
 * of another server or of the user's own programs.
 */
function ownOriginals(archive: Archive, owners: readonly string[]): Archive {
	const isOwn = async (ref: string) => {
		for (const owner of owners) if ((await archive.find(ownId(owner, ref))).length > 0) return true;
		return false;
	};
	const checked = async <T>(reading: Promise<T>, refOf: (read: T) => string): Promise<T> => {
		try {
			const read = await reading;
			if (await isOwn(refOf(read))) return read;
		} catch (error) {
			// Its message names references that are like this one.
			if (!(error instanceof PalimpsestError) || error.code !== "original_not_found") throw error;
		}
		throw notOwn();
	};
	// Every function by name, so that a new one of the archive is confined too.
	const { namespace, location, refOf } = archive;
	return {
		namespace,
		location,
		refOf,
		get: (ref) => checked(archive.get(ref), (found) => found.ref),
		read: (ref, consume) => checked(archive.read(ref, consume), (read) => read.listing.ref),
		has: async (ref) => (await archive.has(ref)) && (await isOwn(ref)),
		find: async () => [],
		async *list() {
			for await (const listing of archive.list()) if (await isOwn(listing.ref)) yield listing;
		},
		async *scan(...given) {
			for await (const scanned of archive.scan(...given)) if (await isOwn(scanned.ref)) yield scanned;
		},
		put: readOnly,
		putInPieces: readOnly,
		stats: readOnly,
		sweep: readOnly,
		clear: readOnly,
		close: readOnly,
	};
}

const readOnly = () => Promise.reject(new Error("Expected only the originals of one server to be read."));

function notOwn(): PalimpsestError {
	const message =
		"No original of this server is kept under this reference. Copy it from the notice, character by character; the results of other servers, and originals that have expired, cannot be read here.";
	return new PalimpsestError("original_not_found", message);
}
