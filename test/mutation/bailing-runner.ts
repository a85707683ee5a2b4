import { it, TestRunner } from "vitest";

type Imported = Parameters<TestRunner["importFile"]>;

/**
 * Leaves out the files after the first failure. Vitest would load them all the same, and find their tests skipped. A file
 * that cannot be loaded has no tests, and Stryker sees nothing but tests: it gets one that fails.
 */
export default class BailingRunner extends TestRunner {
	private isOver = false;

	override cancel(reason: Parameters<TestRunner["cancel"]>[0]): void {
		this.isOver = true;
		super.cancel(reason);
	}

	override async importFile(path: Imported[0], source: Imported[1]): Promise<unknown> {
		if (source !== "collect") return super.importFile(path, source);
		try {
			return this.isOver ? undefined : await super.importFile(path, source);
		} catch (error) {
			it("is loaded", () => {
				throw error;
			});
			return undefined;
		}
	}
}
