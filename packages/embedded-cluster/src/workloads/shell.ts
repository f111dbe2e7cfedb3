/** A toy shell: a handful of commands over a few files that every container seems to have. */

import type { ContainerSpec, Pod } from './shapes.ts';

export interface Result {
  out: string;
  err: string;
  code: number;
}

const printed = (out: string): Result => ({ out, err: '', code: 0 });
const failed = (err: string, code = 1): Result => ({ out: '', err: `${err}\n`, code });

interface Variable {
  name: string;
  value?: string;
}

const commands = ['cat', 'cd', 'date', 'echo', 'env', 'exit', 'false', 'help', 'hostname', 'id', 'ls', 'ps', 'pwd', 'true', 'whoami'];

export class Shell {
  readonly #pod: Pod;
  readonly #container: ContainerSpec;
  readonly #files: ReadonlyMap<string, string>;
  #directory = '/';
  /** Set once `exit` was run. */
  exitCode: number | undefined;
  #last = 0;

  constructor(pod: Pod, container: ContainerSpec) {
    this.#pod = pod;
    this.#container = container;
    const { name } = pod.metadata;
    this.#files = new Map([
      ['/etc/hostname', `${name}\n`],
      ['/etc/hosts', `127.0.0.1\tlocalhost\n${pod.status.podIP ?? '127.0.0.1'}\t${name}\n`],
      ['/etc/os-release', 'NAME="Toy Linux"\nID=toy\nPRETTY_NAME="Toy Linux of the Atrium demo"\n'],
      ['/app/README', `${container.image} runs nowhere: it is part of the demo of Atrium.\n`],
      ['/tmp/.keep', ''],
    ]);
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
    const [first = ''] = words.filter((word) => !word.startsWith('-'));
    switch (command) {
      case 'sh':
      case 'bash':
      case 'ash':
        return words[0] === '-c' ? this.run(words[1] ?? '') : printed('');
      case 'cat':
        return first === '' ? printed('') : this.#cat(this.#absolute(first));
      case 'cd':
        return this.#changeTo(this.#absolute(first || '/'));
      case 'exit':
        this.exitCode = Number(first) || this.#last;
        return { out: '', err: '', code: this.exitCode };
      case 'ls':
        return this.#list(this.#absolute(first || '.'));
      case 'true':
      case 'false':
        return { out: '', err: '', code: Number(command === 'false') };
      default:
        return this.#tell(command, words);
    }
  }

  #tell(command: string, words: readonly string[]): Result {
    const answers: Readonly<Record<string, () => string>> = {
      date: () => new Date().toUTCString(),
      echo: () =>
        words.map((word) => word.replaceAll(/\$\{?(\w{1,64})\}?/g, (_, name: string) => this.#environment().get(name) ?? '')).join(' '),
      env: () => [...this.#environment()].map(([name, value]) => `${name}=${value}`).join('\n'),
      help: () => `Commands: ${commands.join(' ')}`,
      hostname: () => this.#pod.metadata.name,
      id: () => 'uid=1000(app) gid=1000(app) groups=1000(app)',
      ps: () =>
        `PID   USER     TIME  COMMAND\n    1 app       0:04 ${this.#container.targetContainerName ?? this.#container.name}\n   17 app       0:00 sh`,
      pwd: () => this.#directory,
      whoami: () => 'app',
    };
    const answer = Object.hasOwn(answers, command) ? answers[command] : undefined;
    return answer === undefined ? failed(`sh: ${command}: not found`, 127) : printed(`${answer()}\n`);
  }

  #environment(): Map<string, string> {
    const own = (Array.isArray(this.#container.env) ? this.#container.env : []) as Variable[];
    return new Map([
      ['HOSTNAME', this.#pod.metadata.name],
      ['HOME', '/'],
      ['PATH', '/usr/local/bin:/usr/bin:/bin'],
      ...own.map(({ name, value = '' }) => [name, value] as const),
    ]);
  }

  #absolute(path: string): string {
    const parts = (path.startsWith('/') ? path : `${this.#directory}/${path}`).split('/');
    const kept: string[] = [];
    for (const part of parts) {
      if (part === '..') kept.pop();
      else if (part !== '' && part !== '.') kept.push(part);
    }
    return `/${kept.join('/')}`;
  }

  /** The names in a directory, `undefined` if it does not exist. */
  #namesIn(directory: string): string[] | undefined {
    const prefix = directory === '/' ? '/' : `${directory}/`;
    const inside = [...this.#files.keys()]
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length).split('/')[0] ?? '');
    return inside.length > 0 ? [...new Set(inside)].sort() : undefined;
  }

  #changeTo(directory: string): Result {
    if (this.#namesIn(directory) === undefined) return failed(`sh: cd: can't cd to ${directory}: No such file or directory`, 2);
    this.#directory = directory;
    return printed('');
  }

  #list(path: string): Result {
    if (this.#files.has(path)) return printed(`${path}\n`);
    const names = this.#namesIn(path)?.filter((name) => !name.startsWith('.'));
    if (names === undefined) return failed(`ls: ${path}: No such file or directory`);
    return printed(names.map((name) => `${name}\n`).join(''));
  }

  #cat(path: string): Result {
    const text = this.#files.get(path);
    if (text !== undefined) return printed(text);
    return failed(`cat: ${path}: ${this.#namesIn(path) ? 'Is a directory' : 'No such file or directory'}`);
  }
}

const wordsIn = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
