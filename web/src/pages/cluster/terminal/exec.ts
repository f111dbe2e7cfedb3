/**
 * Runs a command in a container, or attaches to the terminal of its own process, by the channels of `v5.channel.k8s.io`: the first byte of
 * each message is its channel.
 */
import { socketAt } from '../../../api/socket';
import { t } from '../../../text/text';

const channels = { input: 0, output: 1, errors: 2, status: 3, resize: 4 } as const;

interface ExecOptions {
  path: string;
  container: string;
  /** Unset where the path attaches to what runs. */
  command?: string;
  onOpen: () => void;
  onOutput: (data: Uint8Array) => void;
  /** Called once, with the way it ended. */
  onEnd: (how: string) => void;
  /** Explains a command that was refused before it began; a WebSocket hides the answer. */
  onRefused?: () => Promise<string | undefined>;
}

export interface Exec {
  send(data: string | Uint8Array): void;
  resize(size: { columns: number; rows: number }): void;
  close(): void;
}

interface Ending {
  status?: string;
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

export function openExec({ path, container, command, onOpen, onOutput, onEnd, onRefused }: ExecOptions): Exec {
  const query = new URLSearchParams({ container, ...(command && { command }), stdin: 'true', stdout: 'true', tty: 'true' });
  const socket = socketAt(path, query, ['v5.channel.k8s.io']);
  let how = t('cluster.shellRefused');
  let isRefused = true;
  const put = (channel: number, data: string | Uint8Array) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  socket.onopen = () => {
    how = t('cluster.shellLost');
    isRefused = false;
    onOpen();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    const rest = bytes.subarray(1);
    if (bytes[0] === channels.output || bytes[0] === channels.errors) onOutput(rest);
    else if (bytes[0] === channels.status) how = endingOf(JSON.parse(new TextDecoder().decode(rest)) as Ending);
  };
  socket.onclose = async () => onEnd((isRefused && (await onRefused?.())) || how);
  return {
    send: (data) => put(channels.input, data),
    resize: ({ columns, rows }) => put(channels.resize, JSON.stringify({ Width: columns, Height: rows })),
    close() {
      if (socket.readyState === WebSocket.OPEN) how = t('cluster.shellClosed');
      socket.close();
    },
  };
}

function endingOf({ status, message = '', details }: Ending): string {
  const code = status === 'Success' ? '0' : details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  return code === undefined ? message : t('cluster.exit', { code });
}
