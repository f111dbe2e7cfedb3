import { useSignal } from '@preact/signals';
import { PowerOff } from 'lucide';
import { sendRaw } from '../api/client';
import { problemOf } from '../api/problem';
import { AskBeside } from '../app/ask';
import { nameOf } from '../app/extensions';
import { may } from '../app/rights';
import { href } from '../app/router';
import { askWhy } from '../app/why';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Confirm } from '../ui/confirm';

const group = 'console.platform.io';

/** The page that shows the button requests this right. */
export const switchOffRight = (plugin: string) => ({ verb: 'patch', group, resource: 'consoleplugins', name: plugin });

/** Leads to the console without plugins, for one page and without a right. */
export const WithoutPlugins = () => (
  <a href={href('/?plugins=off')} data-outside>
    {t('plugins.without')}
  </a>
);

/** Switches a plugin off for all users, after a confirmation. Without the right the button is greyed, and shows the reason. */
export function SwitchOff({ plugin, kind = 'plain' }: { plugin: string; kind?: 'plain' | 'quiet' }) {
  const isAsked = useSignal(false);
  const right = switchOffRight(plugin);
  const isAllowed = may(right);
  const ask = (isOpen: boolean) => () => {
    isAsked.value = isOpen;
  };
  async function switchOff(): Promise<void> {
    const response = await sendRaw(`/api/kubernetes/apis/${group}/v1/consoleplugins/${plugin}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: '{"spec":{"enabled":false}}',
    });
    if (!response.ok) throw await problemOf(response);
    location.reload();
  }
  return (
    <>
      <AskBeside right={isAllowed === false ? right : undefined}>
        <Button
          icon={PowerOff}
          kind={kind}
          isDisabled={isAllowed === undefined}
          isRefused={isAllowed === false}
          onClick={isAllowed === false ? () => askWhy(right) : ask(true)}
        >
          {t('plugins.off')}
        </Button>
      </AskBeside>
      {isAsked.value && (
        <Confirm title={t('plugins.offTitle', { name: nameOf(plugin) })} onConfirm={switchOff} onClose={ask(false)}>
          <p>{t('plugins.offWhat')}</p>
        </Confirm>
      )}
    </>
  );
}
