import { Download } from 'lucide';
import { base } from '../../api/client';
import { useLoad } from '../../api/load';
import { isPage, problemOf } from '../../api/problem';
import { t } from '../../text/text';
import { Copy } from '../../ui/copy';
import { Icon } from '../../ui/icon';
import { Loaded } from '../../ui/loaded';

const address = new URL('downloads/kubectl-atrium', base);

/** Returns the checksum from the file beside the program, which `sha256sum --check` reads. */
async function checksum(signal: AbortSignal): Promise<string> {
  const response = await fetch(`${address}.sha256`, { signal });
  if (!response.ok || isPage(response)) throw await problemOf(response);
  const [sum = ''] = (await response.text()).split(' ');
  return sum;
}

const commands = (sum: string) => `curl -fLO ${address}
echo '${sum}  kubectl-atrium' | sha256sum --check
mkdir -p ~/.local/bin && install -m 0755 kubectl-atrium ~/.local/bin/
export PATH="$HOME/.local/bin:$PATH"
kubectl atrium --version`;

/** The program by which kubectl logs in, and the commands that install it. */
export function Program() {
  const load = useLoad('kubectl-atrium', checksum);
  return (
    <section class="card" aria-labelledby="program-title">
      <h2 id="program-title">{t('kubeconfig.program')}</h2>
      <p class="muted measure">{t('kubeconfig.programWhat')}</p>
      <Loaded load={load}>
        {(sum) => (
          <>
            <Copy text={commands(sum)} label={t('kubeconfig.programCommands')} />
            <p class="muted">
              {t('kubeconfig.checksum')}: <code>{sum}</code>
            </p>
            <div class="buttons">
              <a class="button plain" href={address.href} download="kubectl-atrium">
                <Icon of={Download} />
                <span>{t('kubeconfig.programDownload')}</span>
              </a>
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
}
