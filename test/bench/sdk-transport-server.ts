import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { createServer as CreateServer } from "../../src/mcp/server.ts";
import type { createPolicySource as CreatePolicySource } from "../../src/operations/config/config.ts";
import { importBuilt } from "./import-built.ts";

// Palimpsest's own server on the SDK's stdio transport, whose limit of 10 MiB a message is raised.
const { createPolicySource } = await importBuilt<{ createPolicySource: typeof CreatePolicySource }>(
	"operations/config/config.ts",
);
const { createServer } = await importBuilt<{ createServer: typeof CreateServer }>("mcp/server.ts");
const policySource = await createPolicySource({ environment: {}, workingDirectory: process.cwd() });
const server = createServer({ policySource, log: () => {}, sharesFiles: true });
await server.connect(new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: 64 * 1024 * 1024 }));
