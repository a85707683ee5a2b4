import type * as Module from "../../../src/hosts/plugins/session-editor.ts";

const editors: Module.SessionEditor[] = [];

/** The module with editors that a test can wait for. */
export async function observed(load: () => Promise<unknown>): Promise<typeof Module> {
	const module = (await load()) as typeof Module;
	return {
		...module,
		createSessionEditor(what) {
			const editor = module.createSessionEditor(what);
			editors.push(editor);
			return editor;
		},
	};
}

/** Resolves once all that was sent is planned on and archived. */
export async function settled(): Promise<void> {
	for (const editor of editors) await editor.settled();
}
