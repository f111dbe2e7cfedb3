/** Pages that stay open while the service is upgraded or rolled back. */
import { base } from '../api/client';
import { away, Retry } from '../api/outage';

const everyMs = 1_000;
const maxLooks = 60;
let isLooking = false;

/**
 * Goes on when a replica of another build does not have a file of this page. 1.0.0 answers 404; later builds redirect to another replica, and
 * a file is missed seldom.
 */
export function followBuild(): void {
  repeatStyles();
  addEventListener('vite:preloadError', () => void reloadIfReplaced(location.href));
}

/** Requests styles again that could not be loaded. The first ones are loaded or given up before this code runs. */
function repeatStyles(): void {
  const retries = new WeakMap<HTMLLinkElement, Retry>();
  const repeat = (link: HTMLLinkElement) => {
    const [address = ''] = link.href.split('?');
    const retry = retries.get(link) ?? new Retry(() => Object.assign(link, { href: `${address}?look=${Date.now()}` }));
    retries.set(link, retry);
    retry.plan({ status: 0, retryAfter: undefined });
  };
  const onError = ({ target }: Event) => {
    if (target instanceof HTMLLinkElement && target.rel === 'stylesheet') repeat(target);
  };
  document.addEventListener('error', onError, true);
  const first = document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]');
  if (first?.sheet === null) repeat(first);
}

/** Replicas of both builds answer during an upgrade, so a look may find the present build. */
async function reloadIfReplaced(address: string): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  for (let look = 0; look < maxLooks && location.href === address; look += 1) {
    if (away.peek() === undefined && (await isReplaced())) return location.reload();
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  isLooking = false;
}

/** Reports whether the server's page begins with other code than this one. */
async function isReplaced(): Promise<boolean> {
  const entry = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  try {
    const answer = await fetch(base, { cache: 'no-store' });
    return answer.ok && !(await answer.text()).includes(entry);
  } catch {
    return false;
  }
}
