import { t } from '../../text/text';
import { Copy } from '../../ui/copy';

/** Shows the kubectl command that does the same, to copy. */
export const AsKubectl = ({ command }: { command: string }) => (
  <details class="as-kubectl">
    <summary>{t('act.asKubectl')}</summary>
    <Copy text={command} label={t('act.asKubectl')} />
  </details>
);
