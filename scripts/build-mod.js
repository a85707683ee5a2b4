// Builds the module that Claude Code loads with our plugin: one file without imports, since its sandbox has no Node.js. With the
// name of a file, writes it there: `npm run mod`.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { minifySync } from "rolldown/utils";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Claude Code loads 1 MiB; what is loaded at each start stays small. */
const mostBytes = 400_000;

export async function buildMod() {
	const { output } = await build({
		cwd: root,
		input: "src/hosts/mod/register.ts",
		platform: "neutral",
		write: false,
		resolve: { mainFields: ["module", "main"] },
		plugins: [{ name: "sandbox", resolveId: resolveNode, load: loadTimers, transform: shortenPackages }],
		// Files of the pure parts of rooms are imported for single functions.
		treeshake: { moduleSideEffects: false },
		output: {
			format: "es",
			codeSplitting: false,
			minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
		},
		logLevel: "warn",
	});
	const [{ code }] = output;
	const bytes = Buffer.byteLength(code);
	const [used] = /^import.*$/m.exec(code) ?? [];
	if (used !== undefined) throw new Error(`Expected a module without imports; got ${used}.`);
	if (bytes > mostBytes) throw new Error(`Expected a module of at most ${mostBytes} bytes; got ${bytes}.`);
	return code;
}

/** A long search pauses between pieces. What else Node.js has is used by nothing here, or the module would have imports. */
function resolveNode(id) {
	if (id === "node:timers/promises") return "\0timers";
	return id.startsWith("node:") ? { id, external: true, moduleSideEffects: false } : null;
}

/** Claude Code refuses handlers of events whose names have another meaning inside, so that names of our own code stay. */
function shortenPackages(code, id) {
	return id.includes("node_modules") ? minifySync(id, code, { module: true, compress: true, mangle: true }).code : null;
}

function loadTimers(id) {
	return id === "\0timers" ? "export const setImmediate = async () => {};" : null;
}

const [, script, file] = process.argv;
if (script === fileURLToPath(import.meta.url) && file !== undefined) writeFileSync(file, await buildMod());
