/**
 * `exec` and `attach` over a WebSocket, by the protocols v4 and v5 of remote commands.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
 */

import type { WebSocket } from 'ws';
import { isTrue } from '../request-info.ts';
import type { Upgrade } from '../resources.ts';
import type { ContainerSpec, Pod } from './shapes.ts';
import { isShell, type Result, Shell } from './shell.ts';

const channels = { in: 0, out: 1, err: 2, error: 3, close: 255 } as const;
/** The longest line of the toy shell. */
const maxLine = 4096;

/** Runs a command of the toy shell, or the shell itself. @param onEnd receives the exit code */
export async function execute(upgrade: Upgrade, pod: Pod, container: ContainerSpec, onEnd: (code: number) => void): Promise<void> {
  const { query } = upgrade.info;
  const [command = '', ...words] = query.getAll('command');
  const socket = await upgrade.accept(['v5.channel.k8s.io', 'v4.channel.k8s.io']);
  const session = new Session(socket, new Shell(pod, container), onEnd);
  if (command === '' || (words.length === 0 && isShell(command))) session.interact(isTrue(query.get('tty')));
  else session.run([command.replace(/^\/bin\//, ''), ...words]);
}

function exitStatus(code: number) {
  if (code === 0) return { metadata: {}, status: 'Success' };
  return {
    ...{ metadata: {}, status: 'Failure', reason: 'NonZeroExitCode' },
    message: `command terminated with non-zero exit code: ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

class Session {
  readonly #socket: WebSocket;
  readonly #shell: Shell;
  readonly #onEnd: (code: number) => void;
  /** A terminal echoes what is typed, and has one stream. */
  #isTerminal = false;
  #line = '';

  constructor(socket: WebSocket, shell: Shell, onEnd: (code: number) => void) {
    this.#socket = socket;
    this.#shell = shell;
    this.#onEnd = onEnd;
  }

  run(words: readonly string[]): void {
    const result = this.#shell.runWords(words);
    this.#show(result);
    this.#end(result.code);
  }

  interact(isTerminal: boolean): void {
    const decoder = new TextDecoder();
    this.#isTerminal = isTerminal;
    this.#echo(`Toy shell of the demo: try help.\r\n${this.#shell.prompt}`);
    this.#socket.on('message', (data: Buffer) => {
      if (data[0] === channels.close && data[1] === channels.in) this.#finish();
      else if (data[0] === channels.in) for (const letter of decoder.decode(data.subarray(1), { stream: true })) this.#type(letter);
    });
  }

  #type(letter: string): void {
    if (letter === '\r' || letter === '\n') this.#runLine();
    else if (letter === '\u0004' && this.#line === '') this.#finish();
    else if (letter === '\u0003') this.#setLine('', `^C\r\n${this.#shell.prompt}`);
    else if (letter === '\u007f' || letter === '\b') this.#setLine([...this.#line].slice(0, -1).join(''), this.#line && '\b \b');
    else if (letter >= ' ' && this.#line.length < maxLine) this.#setLine(this.#line + letter, letter);
  }

  #setLine(line: string, echo: string): void {
    this.#line = line;
    this.#echo(echo);
  }

  #runLine(): void {
    const line = this.#line;
    this.#setLine('', '\r\n');
    this.#show(this.#shell.run(line));
    if (this.#shell.exitCode !== undefined) this.#end(this.#shell.exitCode);
    else this.#echo(this.#shell.prompt);
  }

  #finish(): void {
    if (this.#line !== '') this.#show(this.#shell.run(this.#line));
    this.#end(this.#shell.exitCode ?? 0);
  }

  #show({ out, err }: Result): void {
    this.#echo((out + err).replaceAll('\n', '\r\n'));
    if (this.#isTerminal) return;
    this.#send(channels.out, out);
    this.#send(channels.err, err);
  }

  #echo(text: string): void {
    if (this.#isTerminal) this.#send(channels.out, text);
  }

  #send(channel: number, text: string): void {
    if (text !== '') this.#socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
  }

  /** Sends the exit code as a Status, and closes. */
  #end(code: number): void {
    this.#send(channels.error, JSON.stringify(exitStatus(code)));
    this.#socket.close(1000);
    this.#onEnd(code);
  }
}
