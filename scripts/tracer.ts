/**
 * Records the named functions of the service and its packages that one request enters, in their order. This module instruments files while
 * Node.js loads them, so it must be imported before them. Anonymous callbacks belong to the function around them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import { registerHooks } from 'node:module';
import ts from 'typescript-5';

interface Step {
  /** Path below `src`, or below `packages` without `src`. */
  file: string;
  /** Name of the function. */
  name: string;
}

export interface Trace {
  /** Files that the request enters. */
  files: ReadonlySet<string>;
  /** Calls from one file into another. */
  changes: number;
  /** Changes to a file that the request has entered before. */
  back: number;
  steps: readonly Step[];
}

const root = new URL('../', import.meta.url).href;
/** The embedded cluster is not the service, and runs in the process of the trace. */
const ownFile = /^(?:src\/|packages\/(?!demo|embedded-cluster|kubectl-atrium)([^/]+\/)src\/)(.+)$/;
const current = new AsyncLocalStorage<{ steps: Step[]; isOver: boolean }>();
const entered = Symbol.for('atrium.entered');

Object.assign(globalThis, {
  [entered]: (file: string, name: string) => {
    const request = current.getStore();
    if (request?.isOver === false) request.steps.push({ file, name });
  },
});

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [, packageFolder = '', path] = (url.startsWith(root) && ownFile.exec(url.slice(root.length))) || [];
    if (path === undefined || loaded.source === undefined || loaded.source === null) return loaded;
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
    return { ...loaded, source: instrument(text, packageFolder + path) };
  },
});

/** Adds a call to the first line of each named function. */
function instrument(text: string, file: string): string {
  const insertions: [position: number, text: string][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) insertions.push(...insertionsIn(node, node.body, file));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  // Insertions at one position keep their order: an arrow function that returns another begins and ends inside it.
  const ordered = insertions
    .map((insertion, order) => ({ insertion, order }))
    .toSorted((a, b) => b.insertion[0] - a.insertion[0] || b.order - a.order);
  return ordered.reduce((written, { insertion: [at, added] }) => written.slice(0, at) + added + written.slice(at), text);
}

function insertionsIn(node: ts.SignatureDeclaration, body: ts.Node, file: string): [position: number, text: string][] {
  const name = nameOf(node);
  if (name === undefined) return [];
  const call = `globalThis[Symbol.for('atrium.entered')](${JSON.stringify(file)}, ${JSON.stringify(name)})`;
  if (ts.isBlock(body)) return [[body.getStart() + 1, ` ${call};`]];
  return [
    [body.getStart(), `(${call}, `],
    [body.end, ')'],
  ];
}

function nameOf(node: ts.SignatureDeclaration): string | undefined {
  if (!ts.isArrowFunction(node) && !ts.isFunctionExpression(node)) return node.name?.getText() ?? 'constructor';
  const { parent } = node;
  const isNamed = ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isPropertyAssignment(parent);
  return isNamed ? parent.name.getText() : undefined;
}

let awaited: { isIt: (incoming: IncomingMessage) => boolean; take: (trace: Trace) => void } | undefined;

for (const server of [HttpServer, HttpsServer]) {
  const emit = server.prototype.emit as (event: string, ...values: unknown[]) => boolean;
  server.prototype.emit = function (this: InstanceType<typeof server>, event: string, ...values: unknown[]): boolean {
    const [incoming, response] = values as [IncomingMessage, ServerResponse];
    if (event !== 'request' || awaited?.isIt(incoming) !== true) return emit.call(this, event, ...values);
    const { take } = awaited;
    awaited = undefined;
    const request = { steps: [] as Step[], isOver: false };
    response.once('close', () => {
      request.isOver = true;
      take(traceOf(request.steps));
    });
    return current.run(request, () => emit.call(this, event, ...values));
  } as typeof emit;
}

/** Traces the next matching request that a server of this process gets, up to the end of its answer. */
export async function traced(isIt: (incoming: IncomingMessage) => boolean, ask: () => Promise<unknown>): Promise<Trace> {
  const { promise, resolve } = Promise.withResolvers<Trace>();
  awaited = { isIt, take: resolve };
  await ask();
  if (awaited !== undefined) throw new Error('the traced request did not arrive');
  return promise;
}

function traceOf(steps: readonly Step[]): Trace {
  const changes = steps.filter(({ file }, index) => file !== steps[index - 1]?.file);
  const files = new Set(changes.map(({ file }) => file));
  return { files, changes: changes.length, back: changes.length - files.size, steps };
}
