import { sendRaw } from '../api/client';
import { problemOf } from '../api/problem';
import { nameOf } from '../app/extensions';
import { may, useRights } from '../app/rights';
import { href } from '../app/router';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Confirm } from '../ui/confirm';
import { Dialog } from '../ui/dialog';
import { Skeleton } from '../ui/state';

const group = 'console.platform.io';

/** For everyone, where the person may; and for this page, which each may. What runs already ends with the page. */
export function SwitchOff({ plugin, onClose }: { plugin: string; onClose: () => void }) {
  const right = { verb: 'patch', group, resource: 'consoleplugins', name: plugin };
  useRights([right]);
  const isAllowed = may(right);
  const title = t('plugins.offTitle', { name: nameOf(plugin) });
  async function switchOff(): Promise<void> {
    const response = await sendRaw(`/api/kubernetes/apis/${group}/v1/consoleplugins/${plugin}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: '{"spec":{"enabled":false}}',
    });
    if (!response.ok) throw await problemOf(response);
    location.reload();
  }
  const without = (
    <p>
      <a href={href('/?plugins=off')} data-outside>
        {t('plugins.without')}
      </a>
    </p>
  );
  if (isAllowed)
    return (
      <Confirm title={title} onConfirm={switchOff} onClose={onClose}>
        <p>{t('plugins.offWhat')}</p>
        {without}
      </Confirm>
    );
  return (
    <Dialog title={title} onClose={onClose}>
      {isAllowed === undefined ? <Skeleton rows={1} /> : <p>{t('plugins.offRefused')}</p>}
      {without}
      <div class="buttons">
        <Button onClick={onClose}>{t('action.close')}</Button>
      </div>
    </Dialog>
  );
}
