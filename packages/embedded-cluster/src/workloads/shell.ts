/** A toy shell: a handful of commands over a few files that every container seems to have. */

import { posix } from 'node:path';
import type { ContainerSpec, Pod } from './shapes.ts';

export interface Result {
  out: string;
  err: string;
  code: number;
}

const printed = (out: string): Result => ({ out, err: '', code: 0 });
const said = (text: string): Result => printed(`${text}\n`);
const failed = (err: string, code = 1): Result => ({ out: '', err: `${err}\n`, code });
const ended = (code: number): Result => ({ out: '', err: '', code });

const missing = 'No such file or directory';

export const isShell = (command: string): boolean => /^(\/bin\/)?(ba|a)?sh$/.test(command);

export class Shell {
  readonly #files: ReadonlyMap<string, string>;
  readonly #environment: ReadonlyMap<string, string>;
  readonly #commands: Readonly<Record<string, (words: readonly string[], path: string | undefined) => Result>>;
  #directory = '/';
  /** Set once `exit` was run. */
  exitCode: number | undefined;
  #last = 0;

  constructor({ metadata: { name }, status }: Pod, container: ContainerSpec) {
    this.#files = new Map([
      ['/etc/hostname', `${name}\n`],
      ['/etc/hosts', `127.0.0.1\tlocalhost\n${status.podIP ?? '127.0.0.1'}\t${name}\n`],
      ['/etc/os-release', 'NAME="Toy Linux"\nID=toy\nPRETTY_NAME="Toy Linux of the Atrium demo"\n'],
      ['/app/README', `${container.image} runs nowhere: it is part of the demo of Atrium.\n`],
      ['/tmp/.keep', ''],
    ]);
    const own = (Array.isArray(container.env) ? container.env : []) as { name: string; value?: string }[];
    this.#environment = new Map([
      ...Object.entries({ HOSTNAME: name, HOME: '/', PATH: '/usr/local/bin:/usr/bin:/bin' }),
      ...own.map((variable) => [variable.name, variable.value ?? ''] as const),
    ]);
    const processes = [`    1 app       0:04 ${container.targetContainerName ?? container.name}`, '   17 app       0:00 sh'];
    this.#commands = {
      cat: (_, path) => (path === undefined ? printed('') : this.#cat(this.#absolute(path))),
      cd: (_, path = '/') => this.#changeTo(this.#absolute(path)),
      date: () => said(new Date().toUTCString()),
      echo: (words) => said(words.map((word) => this.#expanded(word)).join(' ')),
      env: () => said([...this.#environment].map(([variable, value]) => `${variable}=${value}`).join('\n')),
      exit: (_, code) => this.#exit(Number(code) || this.#last),
      false: () => ended(1),
      help: () => said(`Commands: ${Object.keys(this.#commands).join(' ')}`),
      hostname: () => said(name),
      id: () => said('uid=1000(app) gid=1000(app) groups=1000(app)'),
      ls: (_, path = '.') => this.#list(this.#absolute(path)),
      ps: () => said(['PID   USER     TIME  COMMAND', ...processes].join('\n')),
      pwd: () => said(this.#directory),
      true: () => ended(0),
      whoami: () => said('app'),
    };
  }

  get prompt(): string {
    return `${this.#directory} # `;
  }

  /** Runs a line. Quotes keep words together; there are no pipes, and `&&` and `;` separate commands. */
  run(line: string): Result {
    const all: Result = { out: '', err: '', code: this.#last };
    for (const part of line.split(/(?<separator>&&|;)/)) {
      if (part === '&&' && all.code !== 0) break;
      if (part === '&&' || part === ';' || part.trim() === '' || this.exitCode !== undefined) continue;
      const { out, err, code } = this.runWords(wordsIn(part.trim()));
      Object.assign(all, { out: all.out + out, err: all.err + err, code });
    }
    this.#last = all.code;
    return all;
  }

  runWords([command = '', ...words]: readonly string[]): Result {
    if (isShell(command)) return words[0] === '-c' ? this.run(words[1] ?? '') : printed('');
    const run = Object.hasOwn(this.#commands, command) ? this.#commands[command] : undefined;
    const path = words.find((word) => !word.startsWith('-'));
    return run === undefined ? failed(`sh: ${command}: not found`, 127) : run(words, path);
  }

  #expanded = (word: string) => word.replaceAll(/\$\{?(\w{1,64})\}?/g, (_, name: string) => this.#environment.get(name) ?? '');

  #absolute = (path: string) => posix.resolve(this.#directory, path);

  /** The names in a directory, none if it does not exist. */
  #namesIn(directory: string): string[] {
    const prefix = posix.join(directory, '/');
    const inside = [...this.#files.keys()].filter((path) => path.startsWith(prefix));
    return [...new Set(inside.map((path) => path.slice(prefix.length).split('/')[0] ?? ''))].sort();
  }

  #exit(code: number): Result {
    this.exitCode = code;
    return ended(code);
  }

  #changeTo(directory: string): Result {
    if (this.#namesIn(directory).length === 0) return failed(`sh: cd: can't cd to ${directory}: ${missing}`, 2);
    this.#directory = directory;
    return printed('');
  }

  #list(path: string): Result {
    const names = this.#files.has(path) ? [path] : this.#namesIn(path);
    if (names.length === 0) return failed(`ls: ${path}: ${missing}`);
    return printed(names.map((name) => (name.startsWith('.') ? '' : `${name}\n`)).join(''));
  }

  #cat(path: string): Result {
    const text = this.#files.get(path);
    if (text !== undefined) return printed(text);
    return failed(`cat: ${path}: ${this.#namesIn(path).length > 0 ? 'Is a directory' : missing}`);
  }
}

const wordsIn = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
