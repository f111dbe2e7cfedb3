import { storageKey } from '../api/client';

/** Message between the tabs of this browser. */
export type TabMessage = { kind: 'login'; uid: string } | { kind: 'logout' };

const channel = new BroadcastChannel(storageKey('tabs'));

export const tellTabs = (message: TabMessage): void => channel.postMessage(message);

export function onTabMessage(listener: (message: TabMessage) => void): void {
  channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => listener(data));
}
