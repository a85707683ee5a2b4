import { describe, expect, it } from "vitest";
import { shellTarget } from "../../src/masking/shell.ts";
import type { CallTarget, FileRead } from "../../src/masking/targets.ts";

const lines = (from: number, to: number): FileRead["lines"] => ({ from, to });

describe("shellTarget: files read", () => {
	it.each<[string, FileRead["lines"]]>([
		["cat f", "whole"],
		["cat < /dev/null f 2>/dev/null", "whole"],
		["nl -ba f", "whole"],
		["head f", lines(1, 10)],
		["head -20 f", lines(1, 20)],
		["head -n 20 f", lines(1, 20)],
		["head -n -5 f", "part"],
		["head -c 100 f", "part"],
		["tail -n 20 f", "part"],
		["tail -n +5 f", lines(5, Number.POSITIVE_INFINITY)],
		["sed -n '10,20p' f", lines(10, 20)],
		["sed -n 10p f", lines(10, 10)],
		["sed -n '10,$p' f", lines(10, Number.POSITIVE_INFINITY)],
		["sed 's/a/b/' f", "part"],
		["cat f | head -50", lines(1, 50)],
		["head -n 870 f | tail -n 30", lines(841, 870)],
		["nl -ba f | sed -n '10,20p'", lines(10, 20)],
		["cat f | sed -n '11,20p' | head -3", lines(11, 13)],
		["cat f | tail -3", "part"],
		["sed -n '1,10p' f; sed -n '11,20p' f", lines(1, 20)],
		["sed -n '1,10p' f; sed -n '30,40p' f", "part"],
		["sudo cat f && echo done", "whole"],
		["LC_ALL=C timeout 5 cat 'f'", "whole"],
		["[ -f f ] && cat f || echo none", "whole"],
	])("%s", (script, expected) => {
		expect(shellTarget(script)).toMatchObject({ kind: "read", reads: [{ path: "f", lines: expected }], writes: [] });
	});

	it("finds one range of one file", () => {
		expect(shellTarget("sed -n 1,5p f").reads).toEqual([{ path: "f", lines: { from: 1, to: 5 } }]);
		expect(shellTarget("cat f").reads).toEqual([{ path: "f", lines: "whole" }]);
	});

	it.each([
		["cat f | grep x", "search", ["f"]],
		["grep -rn 'a b' src lib", "search", ["src", "lib"]],
		["rg -g '*.ts' x", "search", []],
		["ls -la src 2>/dev/null", "list", ["src"]],
		["find . -name '*.py' | head", "list", ["."]],
		["cat f && npm test", "run", ["f"]],
		["echo hello", "other", []],
		["# cat f", "other", []],
	])("%s is %s", (script, kind, paths) => {
		expect(shellTarget(script)).toMatchObject({ kind, reads: [] });
		if (kind !== "list" || paths[0] === "src") expect(shellTarget(script).paths).toEqual(paths);
	});

	it("resolves paths in the folder that it changes to", () => {
		expect(shellTarget("cd /repo && cat ./src/../a.ts")).toMatchObject({ paths: ["/repo/a.ts"], folder: "/repo" });
		expect(shellTarget("cd sub; cat a", "/repo").paths).toEqual(["/repo/sub/a"]);
		expect(shellTarget("cd ..; cat a", "/repo/sub").paths).toEqual(["/repo/a"]);
		expect(shellTarget("cat /b ~/c", "/repo").paths).toEqual(["/b", "~/c"]);
	});

	it("ignores anything but plain paths", () => {
		expect(shellTarget('cat *.ts "$FILE" /dev/stdin https://a.b/c').paths).toEqual([]);
	});
});

describe("shellTarget: files written", () => {
	it.each<[string, CallTarget["kind"], readonly string[]]>([
		["echo x > f", "write", ["f"]],
		["echo x >> f", "write", ["f"]],
		["cat > f << 'EOF'\nrm other\ncat secret\nEOF", "write", ["f"]],
		["cat <<EOF | tee f\nbody\nEOF", "write", ["f"]],
		["sed -i 's/a/b/' f", "write", ["f"]],
		["sed -i '' -e 's/a/b/' f", "write", ["f"]],
		["rm -rf f", "write", ["f"]],
		["mv f g", "write", ["f", "g"]],
		["cp g f", "write", ["f"]],
		["git checkout -- f", "write", ["f"]],
		["git checkout main", "run", []],
		["git restore f", "write", ["f"]],
		["git restore --staged f", "run", []],
		["prettier --write f", "write", ["f"]],
		["npx prettier --check f", "run", []],
		["python fix.py > f", "run", ["f"]],
		["python - <<'EOF'\nopen('f', 'w').write('x')\nopen('g').read()\nEOF", "run", ["f"]],
		["cat > fix.py <<'EOF'\nwith open('f', 'w') as out: pass\nEOF\npython fix.py", "run", ["fix.py", "f"]],
		["node -e 1 2> f", "run", ["f"]],
		["npm test 2>&1 | tail -5", "run", []],
		["npm test > /dev/null", "run", []],
		["make && cat f", "run", []],
		["sed -i 's/a/b/' f && sed -n '1,5p' f", "read", ["f"]],
	])("%s", (script, kind, writes) => {
		expect(shellTarget(script)).toMatchObject({ kind, writes });
	});

	it.each([
		["npm test", "npm test"],
		["cd /a && npm run check 2>&1 | tail -3", "npm run check"],
		["npm -w core run build", "npm run build"],
		["npx tsc --noEmit", "tsc"],
		["python -m pytest -x a.py::b", "pytest"],
		["uv run pytest", "pytest"],
		["python check.py --all", "python check.py"],
		["python -c 'print(1)'", undefined],
		["git -C /a diff --stat", "git diff"],
		["/usr/bin/go test ./...", "go test"],
		["./run.sh 5", "run.sh"],
	])("%s runs %s", (script, program) => {
		expect(shellTarget(script).program).toBe(program);
	});

	it("knows the commands of SWE-agent's shell, which keeps a file open", () => {
		expect(shellTarget("open src/a.py 293")).toMatchObject({ kind: "read", paths: ["src/a.py"], openFile: "read" });
		expect(shellTarget("edit 4:4\nimport os; rm x\nend_of_edit")).toMatchObject({
			kind: "write",
			writes: [],
			openFile: "write",
		});
		expect(shellTarget("goto 12")).toMatchObject({ kind: "read", paths: [], openFile: "read" });
		expect(shellTarget("create a.py")).toMatchObject({ kind: "write", writes: ["a.py"], openFile: "write" });
		expect(shellTarget('search_file "x" a.py')).toMatchObject({ kind: "search", paths: ["a.py"] });
	});
});
