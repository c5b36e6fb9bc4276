// The numbers of a comparison of two sides: painters with their strategies, seeds of a painter, or judges of a painter.
"use strict";

(() => {
  const NEAR = 1e-9;
  const MET = {
    name: "met",
    top: 100,
    digits: 1,
    about: "percent of criteria met, of those decided for everything compared",
  };
  const WHAT = {
    painters: "Two painters or strategies",
    seeds: "Two seeds of one painter",
    judges: "Two judges on one painter",
  };

  // The comparison in the address, with sensible defaults for what is missing or unknown.
  function asked(exam, params) {
    const several = exam.ways.length > 1;
    const seeded = exam.painters.filter((painter) => painter.seeds > 1);
    const can = Object.keys(WHAT).filter(
      (one) => (one === "seeds" ? seeded.length : one === "judges" ? several : exam.painters.length > 1),
    );
    const what = can.includes(params.what) ? params.what : can[0];
    const way = exam.ways[Number(params.way)] ? Number(params.way) : 0;
    if (!what) return { can, what: null, way };
    const at = (list, key, other) => {
      const found = list.findIndex((painter) => painter.key === key);
      return list[found >= 0 ? found : Math.min(other, list.length - 1)];
    };
    if (what === "painters") {
      const best = ranked(exam, way);
      const a = at(exam.painters, params.a, exam.painters.indexOf(best[0]));
      const rest = best.filter((painter) => painter !== a);
      const b = at(exam.painters, params.b === a.key ? "" : params.b, exam.painters.indexOf(rest[0]));
      return { can, what, way, a, b };
    }
    const painter = at(what === "seeds" ? seeded : exam.painters, params.p, 0);
    const [one, other] = [params.a, params.b].map((word) => (/^\d+$/.test(word || "") ? Number(word) : null));
    if (what === "seeds") return { can, what, way, painter, seeds: [one, other] };
    const ways = [exam.ways[one] ? one : 0, exam.ways[other] && other !== one ? other : one === 1 ? 0 : 1];
    return { can, what, way: ways[0], painter, ways };
  }

  // Painters, the best under a judge first and controls last, so that a page opens on the two best.
  function ranked(exam, way) {
    const { rows, lead } = exam.ways[way] || { rows: [] };
    const worth = (painter) => {
      const row = rows.find((one) => exam.painters[one.p] === painter);
      const view = row && L.compared(exam, row);
      return view ? (view.scores[lead] ? view.scores[lead][0] : (view.decided.met ?? -1)) : -2;
    };
    const order = exam.painters.map((painter) => [painter.control ? 1 : 0, -worth(painter), painter]);
    return order.sort((x, y) => x[0] - y[0] || x[1] - y[1]).map(([, , painter]) => painter);
  }

  const flip = ([value, low, high, n]) => [-value, high == null ? null : -high, low == null ? null : -low, n];

  // A pair in a list of [one, other, value, low, high, n, …], whichever of the two it names first.
  function found(list, one, other) {
    const row = list.find((each) => (each[0] === one && each[1] === other) || (each[0] === other && each[1] === one));
    if (!row) return null;
    const turned = row[0] !== one;
    const numbers = row.slice(2, 6);
    return { gap: turned ? flip(numbers) : numbers, more: row.slice(6), turned };
  }

  // Every question that both have: the scores of both, the gap, whether it counts.
  function questionsOf(columns, others, common) {
    const [mine, theirs] = columns;
    const counted = common && new Set(common);
    const list = [];
    (mine || []).forEach((a, q) => {
      const b = theirs && theirs[q];
      if (a == null || b == null) return;
      const more = others.reduce((sum, [x, y, top]) => sum + (x && y ? Math.abs((x[q] ?? 0) - (y[q] ?? 0)) / top : 0), 0);
      list.push({ q, a, b, gap: a - b, more, counted: !counted || counted.has(q) });
    });
    return list;
  }

  const byDisagreement = (x, y) => Math.abs(y.gap) - Math.abs(x.gap) || y.more - x.more || x.q - y.q;
  const bySide = (x, y) => y.gap - x.gap || y.more - x.more || x.q - y.q;

  // How often each side is better, how often neither, and the mean difference.
  function tallied(list) {
    const wins = list.filter((one) => one.gap > NEAR).length;
    const losses = list.filter((one) => one.gap < -NEAR).length;
    const sum = list.reduce((total, one) => total + one.gap, 0);
    return { n: list.length, wins, losses, ties: list.length - wins - losses, mean: list.length ? sum / list.length : null };
  }

  L.two = { MET, WHAT, NEAR, asked, found, questionsOf, byDisagreement, bySide, tallied };
})();
