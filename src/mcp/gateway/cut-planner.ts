import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { Originals } from "../../engine/policy/wordings.ts";
import type { TextDocument } from "../../formats/json-text/read.ts";
import type { ArchiveSource } from "../../storage/archive/open.ts";
import { createAllowance } from "./allowance.ts";
import type { CutOptions, CutPlan } from "./cut-result.ts";
import { type createKnownTools, readersOf } from "./known-tools.ts";
import type { OpenRequest } from "./open-requests.ts";

/** Of what the archive may hold, in a day. */
const shareOfServer = 1 / 4;

interface Planned {
	readonly path: Path;
	readonly request: OpenRequest;
	/** Of the tool, or of the method. */
	readonly name: string;
	readonly recall: Originals;
	readonly document: TextDocument;
	/** By the name that the host gives itself. */
	readonly showsStructure: boolean;
}

const listedNowhere = { tool: undefined, isCurrent: true };

/** Plans the cuts of results by what is known of their tools, and of what the server may still archive. */
export function createCutPlanner({
	policy,
	maxTokens,
	owner,
	ownerOf = () => owner,
	archive,
	tools,
}: Pick<CutOptions, "policy" | "maxTokens" | "owner"> & {
	readonly ownerOf?: ((tool: string) => string) | undefined;
	readonly archive: ArchiveSource | undefined;
	readonly tools: ReturnType<typeof createKnownTools>;
}) {
	const bytesADay = policy.archive.max_bytes * shareOfServer;
	const allowances = new Map<string, ReturnType<typeof createAllowance>>();
	const allowanceOf = (server: string) => {
		const allowance = allowances.get(server) ?? createAllowance({ bytesADay, now: () => performance.now() });
		allowances.set(server, allowance);
		return allowance;
	};

	/** Throws as `planCut` does. */
	return async (result: JsonObject, { path, request, ...planned }: Planned): Promise<CutPlan> => {
		const { asked, kept } = request;
		const { name } = planned;
		const focus = asked.kind === "call" ? asked.focus : asked.kind === "resource" ? asked.uri : "";
		const { tool, isCurrent } = asked.kind === "call" ? await tools.find(name) : listedNowhere;
		// While the list is outdated, a tool that it lacks may be one for a page alone.
		const readers = tool ? readersOf(tool) : isCurrent ? "model" : "app";
		const { planCut, uncut } = await import("./cut-result.ts");
		if (readers === "app") return uncut(result);
		const { outputSchema } = tool ?? {};
		const how = {
			...{ policy, maxTokens, focus, ...planned, owner: ownerOf(name) },
			// Nobody here knows the shape that the content of an unlisted tool has to have.
			cutsStructure: readers === "model" && tool !== undefined && isCurrent,
			outputSchema: isJsonObject(outputSchema) ? outputSchema : undefined,
		};
		if (archive === undefined) return planCut(result, path, { ...how, archive });
		const planning = kept.before.then(() =>
			archive.use((opened) => planCut(result, path, { ...how, archive: allowanceOf(how.owner)(opened, kept) })),
		);
		kept.before = planning.then(
			() => {
				kept.isWhole = true;
			},
			() => {},
		);
		return planning;
	};
}
