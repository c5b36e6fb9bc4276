// How often judges, or repeats of one judge, agree: for the pages of judges and of differences.
"use strict";

(() => {
  const { html, Name } = L;

  function Agreement({ pairs, exam }) {
    const name = (n) => exam.ways[n].name;
    const line = ({ ways: [a, b], both, alike, kappa }) => html`<tr>
      <th scope="row"><${Name}>${a === b ? `${name(a)}, repeats` : `${name(a)} and ${name(b)}`}<//></th>
      <td class="number">${L.count(alike)}</td>
      <td class="number">${L.count(both)}</td>
      <td class="number">${((100 * alike) / both).toFixed(1)}%</td>
      <td class="number">${L.number(kappa, 2)}</td>
    </tr>`;
    const help = "Agreement beyond chance: 1 is full agreement, 0 what two would reach without looking";
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Agreement">
      <table>
        <caption>
          How often two markings agree, over criteria that both decided. Kappa is what remains beyond chance: 1 is full
          agreement, 0 none.
        </caption>
        <thead>
          <tr>
            <th scope="col">Between</th>
            <th scope="col" class="number">Alike</th>
            <th scope="col" class="number">Both decided</th>
            <th scope="col" class="number">Agreement</th>
            <th scope="col" class="number" title=${help}>Cohen's kappa</th>
          </tr>
        </thead>
        <tbody>
          ${pairs.map(line)}
        </tbody>
      </table>
    </div>`;
  }

  Object.assign(L, { Agreement });
})();
