import { maskConversation } from "../operations/mask.ts";
import { commandConfig, type EditOptions, editConversation, type IdleOptions, say } from "./input-output.ts";

/** `palimpsest mask FILE` */
export async function mask(file: string, options: EditOptions & IdleOptions): Promise<void> {
	const { policy } = await commandConfig(options);
	const { report } = await editConversation({ file, options, policy }, (call) =>
		maskConversation({ ...call, idleSeconds: options.idleSeconds }),
	);
	const { masked_tool_results: masked, tool_results: results, tokens } = report;
	say(`masked ${masked} of ${results} tool results, ${tokens.before} → ${tokens.after} tokens`);
}
