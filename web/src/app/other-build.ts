/** Pages that stay open while the service is upgraded or rolled back. */
import { base } from '../api/client';

const everyMs = 1_000;
const maxLooks = 60;
let isLooking = false;

/** Loads the page again when a replica of another build does not have code that the page loads on demand. */
export function followBuild(): void {
  addEventListener('vite:preloadError', () => void reloadIfReplaced(location.href));
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
