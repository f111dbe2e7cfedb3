import { spawn } from 'node:child_process';
import type { Terminal } from './terminal.ts';

/** Reports whether a browser on this machine would be visible to the user. */
export function hasBrowser({ environment, platform }: Terminal): boolean {
  if (environment.BROWSER) return true;
  if (environment.SSH_CONNECTION && !environment.DISPLAY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY || environment.WSL_DISTRO_NAME);
}

/**
 * Opens the address in a browser if possible, without a message if not. The variable BROWSER names a command, in which `%s` is the address.
 */
export function openBrowser(url: string, terminal: Terminal): void {
  const [command, ...args] = commandOf(url, terminal);
  const child = spawn(command, args, { detached: true, stdio: 'ignore', env: { ...terminal.environment } });
  child.on('error', () => undefined);
  child.unref();
}

function commandOf(url: string, { environment, platform }: Terminal): [string, ...string[]] {
  const [command, ...args] = environment.BROWSER?.split(' ').filter(Boolean) ?? [];
  if (command !== undefined)
    return args.join().includes('%s') ? [command, ...args.map((arg) => arg.replaceAll('%s', url))] : [command, ...args, url];
  if (platform === 'darwin') return ['open', url];
  // No shell interprets the address.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
