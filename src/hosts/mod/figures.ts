import { dayFileName } from "../../storage/figures/day-file.ts";
import { type Figure, type FigureLine, writeLine } from "../../storage/figures/line.ts";
import { type Disk, sha256 } from "./disk.ts";
import type { ModSettings } from "./settings.ts";

/**
 * Writes lines of figures. A mod can only write whole files, so that a session has a file of its own for each day. Nothing that goes
 * wrong with a figure reaches the caller.
 */
export function openModFigures(session: string, projectFolder: string, settings: ModSettings) {
	const { figuresFolder, figures: keep } = settings;
	let day = "";
	let text = "";
	let writing: Promise<void> = Promise.resolve();
	const add = async (figure: Figure, at: number, disk: Disk): Promise<void> => {
		const name = dayFileName(at, session);
		const file = `${figuresFolder}/${name}`;
		if (name !== day) text = await disk.read(file).catch(() => "");
		day = name;
		const line = { at, program: "claude", project: await projectOf(projectFolder, keep), ...figure } as FigureLine;
		text += `\n${writeLine(line)}`;
		await disk.write(file, text);
	};
	return {
		add(figure: Figure, at: number, disk: Disk): Promise<void> {
			if (keep !== "none") writing = writing.then(() => add(figure, at, disk)).catch(() => {});
			return writing;
		},
	};
}

/** As `projectName`, for a folder that is absolute. */
async function projectOf(folder: string, keep: ModSettings["figures"]): Promise<string> {
	const hash = (await sha256(folder)).slice(0, 10);
	const last = /[^/\\]*$/
		.exec(folder)?.[0]
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
		.slice(0, 60)
		.toWellFormed();
	return keep === "private" || !last ? hash : `${hash}/${last}`;
}
