import { expect } from 'chai';
import {
  attachCommand,
  commandsFor,
  debugCommand,
  execCommand,
  kubectl,
  kubectlFor,
  logCommand,
} from '../../../web/src/pages/cluster/kubectl.ts';

const pod = { name: 'web-0', namespace: 'shop' };
const deployments = { group: 'apps', resource: 'deployments' };
const web = { name: 'web', namespace: 'shop' };
const log = { ...{ namespace: 'shop', isPrevious: false, hasTimes: false }, tailLines: 1000, streams: 20 };
const debug = { image: 'busybox:1.37', container: 'debugger-1', target: '', profile: 'baseline' };

describe('commands of kubectl in the console', () => {
  for (const [title, command, expected] of [
    [
      'an object with its group',
      kubectlFor(['scale'], deployments, web, '--replicas=3'),
      'scale deployments.apps/web -n shop --replicas=3',
    ],
    ['an object without a namespace', kubectlFor(['edit'], { group: '', resource: 'nodes' }, { name: 'n1' }), 'edit nodes/n1'],
    ['a word that a shell would read', kubectl('patch', '-p', `{"a":"it's"}`), `patch -p '{"a":"it'\\''s"}'`],
    ['a substitution of a shell', kubectl('logs', '-l', 'app=$(reboot)'), `logs -l 'app=$(reboot)'`],
    ['a shell in a container', execCommand(pod, 'app', 'bash'), 'exec -it pods/web-0 -n shop -c app -- bash'],
    ['a terminal of a container', attachCommand(pod, 'app'), 'attach -it pods/web-0 -n shop -c app'],
    [
      'the log of a container',
      logCommand({ ...log, pod: 'web-0', container: 'app' }),
      'logs pods/web-0 -n shop -c app --follow --tail=1000',
    ],
    [
      'the log before a restart, with times',
      logCommand({ ...log, pod: 'web-0', container: 'app', isPrevious: true, hasTimes: true }),
      'logs pods/web-0 -n shop -c app --previous --timestamps --tail=1000',
    ],
    [
      'the last hour',
      logCommand({ ...log, pod: 'web-0', sinceSeconds: 3600 }),
      'logs pods/web-0 -n shop --all-containers --follow --since=3600s',
    ],
    [
      'the logs of a workload',
      logCommand({ ...log, selector: 'app in (a,b),tier=x' }),
      `logs -l 'app in (a,b),tier=x' -n shop --all-containers --prefix --max-log-requests=20 --follow --tail=1000`,
    ],
    [
      'an ephemeral container',
      debugCommand(pod, { ...debug, target: 'app' }),
      'debug -it pods/web-0 -n shop --image=busybox:1.37 --container=debugger-1 --target=app --profile=baseline',
    ],
    [
      'an ephemeral container without a target',
      debugCommand(pod, debug),
      'debug -it pods/web-0 -n shop --image=busybox:1.37 --container=debugger-1 --profile=baseline',
    ],
  ] as const)
    it(`name ${title}`, () => {
      expect(command).to.equal(`kubectl ${expected}`);
    });

  it('delete objects of several namespaces by a command for each', () => {
    const rows = [web, { name: 'cart', namespace: 'shop' }, { name: 'web', namespace: 'payments' }];
    expect(commandsFor(['delete'], deployments, rows).split('\n')).to.deep.equal([
      'kubectl delete deployments.apps web cart -n shop',
      'kubectl delete deployments.apps web -n payments',
    ]);
  });
});
