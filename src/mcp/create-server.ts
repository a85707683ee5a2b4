import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { ArchiveLocation } from "../archive/open.ts";
import type { ArchiveSource } from "../config/create-archive-source.ts";
import type { CompactionSource } from "../config/create-compaction-source.ts";
import type { PolicySource } from "../config/create-policy-source.ts";
import { createFileAccess } from "../files/file-access.ts";
import { createSpill } from "../files/spill.ts";
import type { Log } from "../pipeline/log-event.ts";
import { describePolicy } from "../policy/reference.ts";
import type { Policy } from "../policy/schema.ts";
import { version } from "../version.ts";
import { bindContextReportApp } from "./apps/context-report-app.ts";
import { bindLogging } from "./bind-logging.ts";
import { bindOriginals } from "./bind-originals.ts";
import { bindPrompts } from "./bind-prompts.ts";
import { bindResources } from "./bind-resources.ts";
import { bindTools } from "./bind-tools.ts";
import type { OnCallEnd } from "./call-end.ts";
import { callProgress } from "./call-progress.ts";
import { clientRoots } from "./client-roots.ts";
import { clientSampling } from "./client-sampling.ts";
import { lazyValidator } from "./lazy-validator.ts";
import type { CallPool } from "./pool/call-pool.ts";
import { recallOriginal } from "./tools/recall-original.ts";
import { tools } from "./tools.ts";
import { wordRequestErrors } from "./word-request-errors.ts";

/** What a server is made from. */
export interface ServerOptions {
	readonly policySource: PolicySource;
	/** Takes each event beside the client, for the operator's log. */
	readonly log: Log;
	/** Where originals are kept; absent where nothing is, and nothing can be recalled. Outlives the server. */
	readonly archive?: ArchiveSource | undefined;
	/** The model that the environment names, and strategies of the user's own. Outlives the server. */
	readonly compaction?: Pick<CompactionSource, "endpoint" | "loadStrategy"> | undefined;
	/** Aborted, with the error of a connection that closed, where nothing can come from the client any more. */
	readonly clientGone?: AbortSignal | undefined;
	/** Folders whose files a call may name by path. */
	readonly allowedPaths?: readonly string[] | undefined;
	/** Whether the client runs on this machine as the same user: its roots are allowed too, and large answers go into files. */
	readonly sharesFiles?: boolean | undefined;
	/** Whether requests are read from bytes, so that nobody else holds what is in them. */
	readonly ownsRequests?: boolean | undefined;
	/** Takes the calls that would hold up other clients; absent where there is one client. Outlives the server. */
	readonly pool?: CallPool | undefined;
	/** Where `archive` is, for the pool's threads, which open it themselves. */
	readonly archiveLocation?: ArchiveLocation | undefined;
	/** Who calls, where callers are told apart. */
	readonly principal?: string | undefined;
	/** Whether nothing reaches the client but answers: then neither a log nor news of the policy is offered to it. */
	readonly onlyAnswers?: boolean | undefined;
	/** Takes note of each call that has ended. */
	readonly onCallEnd?: OnCallEnd | undefined;
}

/**
 * Makes an MCP server for one client, with no transport yet. One process may run many: they share nothing but the policy
 * source.
 */
export function createServer(options: ServerOptions): McpServer {
	const {
		policySource,
		log,
		archive,
		compaction,
		allowedPaths = [],
		sharesFiles = false,
		onlyAnswers = false,
	} = options;
	const { pool, archiveLocation: location, principal, onCallEnd } = options;
	const server = new McpServer(
		{ name: "palimpsest", title: "Palimpsest", version },
		{ instructions: instructions(policySource.current(), archive !== undefined), jsonSchemaValidator: lazyValidator },
	);
	const logToClient = onlyAnswers ? undefined : bindLogging(server, () => policySource.current().log_level);
	const logToBoth: Log = (event) => {
		log(event);
		logToClient?.(event);
	};
	const rootsOfClient = sharesFiles ? clientRoots(server, options.clientGone) : async () => [];
	const files = createFileAccess({
		workingDirectory: process.cwd(),
		folders: allowedPaths,
		roots: rootsOfClient,
	});
	bindTools(server, {
		tools: archive ? tools : tools.filter((tool) => tool !== recallOriginal),
		contextOfCall: (call) => ({
			layers: policySource.layers(),
			log: logToBoth,
			files,
			ownsArguments: options.ownsRequests,
			signal: call.signal,
			onProgress: callProgress({ ...call, progressToken: call._meta?.progressToken }),
			sampling: clientSampling(server, call, options.clientGone),
			endpoint: compaction?.endpoint,
			loadStrategy: compaction?.loadStrategy,
		}),
		archive,
		spill: sharesFiles ? createSpill() : undefined,
		inPool: pool && {
			pool,
			location: archive && location,
			allowedPaths,
			policyFile: policySource.file,
			principal: principal ?? "",
		},
		principal,
		onCallEnd,
	});
	if (archive) bindOriginals(server, archive);
	bindPrompts(server);
	const stopListening = bindResources(server, policySource, { tellsChanges: !onlyAnswers });
	bindContextReportApp(server);
	wordRequestErrors(server);
	server.server.onclose = stopListening;
	return server;
}

function instructions(policy: Policy, isArchived: boolean): string {
	const recall = isArchived
		? ["What a placeholder names by ref= or réf= is intact: read it with recall_original, whole or in part."]
		: [];
	return [
		"Palimpsest keeps an agent's context small without breaking it.",
		"Between turns, mask_conversation replaces old tool results by placeholders; guard_context makes a conversation fit the model's window; truncate_output cuts one large text; compact_conversation hides or summarises what is old.",
		'A placeholder says that an old tool result was left out on purpose: no error. Ask for respond_with "edits" to pay for changes only.',
		...recall,
		describePolicy(policy),
	].join("\n");
}
