/** Pages that stay open while the service is upgraded or rolled back. */
import { base } from '../api/client';

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

/** Requests the styles again, which browsers have loaded or given up before the first code runs. */
function repeatStyles(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]');
  if (link === null) return;
  const { href } = link;
  let looks = 0;
  const repeat = () => {
    looks += 1;
    if (looks <= maxLooks) setTimeout(() => Object.assign(link, { href: `${href}?look=${looks}` }), everyMs);
  };
  link.addEventListener('error', repeat);
  if (link.sheet === null) repeat();
}

/** Replicas of both builds answer during an upgrade, so a look may find the present build. */
async function reloadIfReplaced(address: string): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  for (let look = 0; look < maxLooks && location.href === address; look += 1) {
    if (await isReplaced()) return location.reload();
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
