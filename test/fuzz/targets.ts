import { archiveFiles } from "./archive-files.ts";
import { operations } from "./operations.ts";
import { proxyBodies, proxyStreams } from "./proxy.ts";
import { httpRequests, proxyExchanges, stdioLines } from "./servers.ts";
import { hostFiles, policyFiles } from "./settings.ts";
import type { Target } from "./target.ts";
import { conversationFiles, recall, truncation } from "./texts.ts";

/** Everything that is fed with random cases. */
export const targets: readonly Target[] = [
	operations,
	conversationFiles,
	truncation,
	recall,
	proxyBodies,
	proxyStreams,
	archiveFiles,
	policyFiles,
	hostFiles,
	stdioLines,
	httpRequests,
	proxyExchanges,
];
