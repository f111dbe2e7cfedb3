/**
 * `exec` and `attach` over a WebSocket, by the protocols v4 and v5 of remote commands.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
 */

import type { WebSocket } from 'ws';
import { isTrue } from '../request-info.ts';
import type { Upgrade } from '../resources.ts';
import type { ContainerSpec, Pod } from './shapes.ts';
import { type Result, Shell } from './shell.ts';

const channels = { in: 0, out: 1, err: 2, error: 3, close: 255 } as const;
/** The longest line of the toy shell. */
const maxLine = 4096;
const shells = new Set(['sh', 'bash', 'ash', '/bin/sh', '/bin/bash', '/bin/ash']);

class Streams {
  readonly #socket: WebSocket;
  readonly #onEnd: (code: number) => void;

  constructor(socket: WebSocket, onEnd: (code: number) => void) {
    this.#socket = socket;
    this.#onEnd = onEnd;
  }

  send(channel: number, text: string): void {
    if (text !== '') this.#socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
  }

  /** Sends the exit code as a Status, and closes. */
  end(code: number): void {
    const causes = [{ reason: 'ExitCode', message: String(code) }];
    const status =
      code === 0
        ? { metadata: {}, status: 'Success' }
        : {
            metadata: {},
            status: 'Failure',
            message: `command terminated with non-zero exit code: ${code}`,
            reason: 'NonZeroExitCode',
            details: { causes },
          };
    this.send(channels.error, JSON.stringify(status));
    this.#socket.close(1000);
    this.#onEnd(code);
  }
}

/** Runs a command of the toy shell, or the shell itself. */
export async function execute(
  upgrade: Upgrade,
  pod: Pod,
  container: ContainerSpec,
  onEnd: (code: number) => void = () => {},
): Promise<void> {
  const { query } = upgrade.info;
  const command = query.getAll('command');
  const socket = await upgrade.accept(['v5.channel.k8s.io', 'v4.channel.k8s.io']);
  const [streams, shell] = [new Streams(socket, onEnd), new Shell(pod, container)];
  const isShell = command.length === 0 || (command.length === 1 && shells.has(command[0] ?? ''));
  if (isShell) return interact({ socket, streams, shell, isTerminal: isTrue(query.get('tty')) });
  const { out, err, code } = shell.runWords([(command[0] ?? '').replace(/^\/bin\//, ''), ...command.slice(1)]);
  streams.send(channels.out, out);
  streams.send(channels.err, err);
  streams.end(code);
}

interface Session {
  socket: WebSocket;
  streams: Streams;
  shell: Shell;
  /** A terminal echoes what is typed, and has one stream. */
  isTerminal: boolean;
}

function interact(session: Session): void {
  const { socket, streams, shell, isTerminal } = session;
  const decoder = new TextDecoder();
  let line = '';
  if (isTerminal) streams.send(channels.out, `Toy shell of the demo: try help.\r\n${shell.prompt}`);
  socket.on('message', (data) => {
    const message = data as Buffer;
    const isEnd = message[0] === channels.close && message[1] === channels.in;
    if (isEnd) return finish();
    if (message[0] !== channels.in) return;
    for (const letter of decoder.decode(message.subarray(1), { stream: true })) type(letter);
  });

  function type(letter: string): void {
    if (letter === '\r' || letter === '\n') runLine();
    else if (letter === '\u0004' && line === '') finish();
    else if (letter === '\u0003') cancel();
    else if (letter === '\u007f' || letter === '\b') erase();
    else if (letter >= ' ' && line.length < maxLine) {
      line += letter;
      if (isTerminal) streams.send(channels.out, letter);
    }
  }

  function runLine(): void {
    if (isTerminal) streams.send(channels.out, '\r\n');
    const result = shell.run(line);
    line = '';
    show(session, result);
    if (shell.exitCode !== undefined) streams.end(shell.exitCode);
    else if (isTerminal) streams.send(channels.out, shell.prompt);
  }

  function erase(): void {
    if (line === '') return;
    line = [...line].slice(0, -1).join('');
    if (isTerminal) streams.send(channels.out, '\b \b');
  }

  function cancel(): void {
    line = '';
    streams.send(channels.out, `^C\r\n${shell.prompt}`);
  }

  function finish(): void {
    if (line !== '') show(session, shell.run(line));
    streams.end(shell.exitCode ?? 0);
  }
}

function show({ streams, isTerminal }: Session, { out, err }: Result): void {
  if (isTerminal) streams.send(channels.out, (out + err).replaceAll('\n', '\r\n'));
  else {
    streams.send(channels.out, out);
    streams.send(channels.err, err);
  }
}
