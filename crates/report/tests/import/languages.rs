//! ping in the languages of its translations: what is read is what the English output with the same figures gives.

use super::{only, warned};
use pathmeter_report::import::Imported;

/// The lines of ping of Windows in a language, each with the figures of one test.
const WINDOWS: &[(&str, &str)] = &[
    (
        "en",
        "Pinging 192.0.2.9 with 32 bytes of data:\n\
         Reply from 192.0.2.9: bytes=32 time=13ms TTL=57\nRequest timed out.\n\
         Reply from 192.0.2.9: bytes=32 time=14ms TTL=57\nReply from 192.0.2.9: bytes=32 time=15ms TTL=57\n\n\
         Ping statistics for 192.0.2.9:\n    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\n\
         Approximate round trip times in milli-seconds:\n    Minimum = 13ms, Maximum = 15ms, Average = 14ms\n",
    ),
    (
        "de",
        "Ping wird ausgeführt für 192.0.2.9 mit 32 Bytes Daten:\n\
         Antwort von 192.0.2.9: Bytes=32 Zeit=13ms TTL=57\nZeitüberschreitung der Anforderung.\n\
         Antwort von 192.0.2.9: Bytes=32 Zeit=14ms TTL=57\nAntwort von 192.0.2.9: Bytes=32 Zeit=15ms TTL=57\n\n\
         Ping-Statistik für 192.0.2.9:\n    Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1\n    (25% Verlust),\n\
         Ca. Zeitangaben in Millisek.:\n    Minimum = 13ms, Maximum = 15ms, Mittelwert = 14ms\n",
    ),
    (
        "fr",
        "Envoi d’une requête 'Ping'  192.0.2.9 avec 32 octets de données :\n\
         Réponse de 192.0.2.9 : octets=32 temps=13 ms TTL=57\nDélai d’attente de la demande dépassé.\n\
         Réponse de 192.0.2.9 : octets=32 temps=14 ms TTL=57\nRéponse de 192.0.2.9 : octets=32 temps=15 ms TTL=57\n\n\
         Statistiques Ping pour 192.0.2.9:\n    Paquets : envoyés = 4, reçus = 3, perdus = 1 (perte 25%),\n\
         Durée approximative des boucles en millisecondes :\n    Minimum = 13ms, Maximum = 15ms, Moyenne = 14ms\n",
    ),
    (
        "es",
        "Haciendo ping a 192.0.2.9 con 32 bytes de datos:\n\
         Respuesta desde 192.0.2.9: bytes=32 tiempo=13ms TTL=57\nTiempo de espera agotado para esta solicitud.\n\
         Respuesta desde 192.0.2.9: bytes=32 tiempo=14ms TTL=57\nRespuesta desde 192.0.2.9: bytes=32 tiempo=15ms TTL=57\n\n\
         Estadísticas de ping para 192.0.2.9:\n    Paquetes: enviados = 4, recibidos = 3, perdidos = 1\n    (25% perdidos),\n\
         Tiempos aproximados de ida y vuelta en milisegundos:\n    Mínimo = 13ms, Máximo = 15ms, Media = 14ms\n",
    ),
    (
        "it",
        "Esecuzione di Ping 192.0.2.9 con 32 byte di dati:\n\
         Risposta da 192.0.2.9: byte=32 durata=13ms TTL=57\nRichiesta scaduta.\n\
         Risposta da 192.0.2.9: byte=32 durata=14ms TTL=57\nRisposta da 192.0.2.9: byte=32 durata=15ms TTL=57\n\n\
         Statistiche Ping per 192.0.2.9:\n    Pacchetti: Trasmessi = 4, Ricevuti = 3,\n    Persi = 1 (25% persi),\n\
         Tempo approssimativo percorsi andata/ritorno in millisecondi:\n    Minimo = 13ms, Massimo =  15ms, Medio =  14ms\n",
    ),
    (
        "pt",
        "Disparando 192.0.2.9 com 32 bytes de dados:\n\
         Resposta de 192.0.2.9: bytes=32 tempo=13ms TTL=57\nEsgotado o tempo limite do pedido.\n\
         Resposta de 192.0.2.9: bytes=32 tempo=14ms TTL=57\nResposta de 192.0.2.9: bytes=32 tempo=15ms TTL=57\n\n\
         Estatísticas do Ping para 192.0.2.9:\n    Pacotes: Enviados = 4, Recebidos = 3, Perdidos = 1 (25% de\n             perda),\n\
         Aproximar um número redondo de vezes em milissegundos:\n    Mínimo = 13ms, Máximo = 15ms, Média = 14ms\n",
    ),
    (
        "nl",
        "Pingen naar 192.0.2.9 met 32 bytes aan gegevens:\n\
         Antwoord van 192.0.2.9: bytes=32 tijd=13 ms TTL=57\nTime-out bij opdracht.\n\
         Antwoord van 192.0.2.9: bytes=32 tijd=14 ms TTL=57\nAntwoord van 192.0.2.9: bytes=32 tijd=15 ms TTL=57\n\n\
         Ping-statistieken voor 192.0.2.9:\n    Pakketten: verzonden = 4, ontvangen = 3, verloren = 1\n    (25% verlies).\n\
         De gemiddelde tijd voor het uitvoeren van één bewerking in milliseconden:\n\
         \u{20}   Minimum = 13ms, Maximum = 15ms, Gemiddelde = 14ms\n",
    ),
    (
        "pl",
        "Badanie 192.0.2.9 z 32 bajtami danych:\n\
         Odpowiedź z 192.0.2.9: bajtów=32 czas=13ms TTL=57\nUpłynął limit czasu żądania.\n\
         Odpowiedź z 192.0.2.9: bajtów=32 czas=14ms TTL=57\nOdpowiedź z 192.0.2.9: bajtów=32 czas=15ms TTL=57\n\n\
         Statystyka badania ping dla 192.0.2.9:\n    Pakiety: Wysłane = 4, Odebrane = 3, Utracone = 1\n             (25% straty),\n\
         Szacunkowy czas błądzenia pakietów w millisekundach:\n    Minimum = 13 ms, Maksimum = 15 ms, Czas średni = 14 ms\n",
    ),
    (
        "ru",
        "Обмен пакетами с 192.0.2.9 по с 32 байтами данных:\n\
         Ответ от 192.0.2.9: число байт=32 время=13мс TTL=57\nПревышен интервал ожидания для запроса.\n\
         Ответ от 192.0.2.9: число байт=32 время=14мс TTL=57\nОтвет от 192.0.2.9: число байт=32 время=15мс TTL=57\n\n\
         Статистика Ping для 192.0.2.9:\n    Пакетов: отправлено = 4, получено = 3, потеряно = 1\n    (25% потерь)\n\
         Приблизительное время приема-передачи в мс:\n    Минимальное = 13мсек, Максимальное = 15 мсек, Среднее = 14 мсек\n",
    ),
    (
        "ja",
        "192.0.2.9 に ping を送信しています 32 バイトのデータ:\n\
         192.0.2.9 からの応答: バイト数 =32 時間 =13ms TTL=57\n要求がタイムアウトしました。\n\
         192.0.2.9 からの応答: バイト数 =32 時間 =14ms TTL=57\n192.0.2.9 からの応答: バイト数 =32 時間 =15ms TTL=57\n\n\
         192.0.2.9 の ping 統計:\n    パケット数: 送信 = 4、受信 = 3、損失 = 1 (25% の損失)、\n\
         ラウンド トリップの概算時間 (ミリ秒):\n    最小 = 13ms、最大 = 15ms、平均 = 14ms\n",
    ),
    (
        "zh",
        "正在 Ping 192.0.2.9 具有 32 字节的数据:\n\
         来自 192.0.2.9 的回复: 字节=32 时间=13ms TTL=57\n请求超时。\n\
         来自 192.0.2.9 的回复: 字节=32 时间=14ms TTL=57\n来自 192.0.2.9 的回复: 字节=32 时间=15ms TTL=57\n\n\
         192.0.2.9 的 Ping 统计信息:\n    数据包: 已发送 = 4，已接收 = 3，丢失 = 1 (25% 丢失)，\n\
         往返行程的估计时间(以毫秒为单位):\n    最短 = 13ms，最长 = 15ms，平均 = 14ms\n",
    ),
    (
        "ko",
        "Ping 192.0.2.9 32바이트 데이터 사용:\n\
         192.0.2.9의 응답: 바이트=32 시간=13ms TTL=57\n요청 시간이 만료되었습니다.\n\
         192.0.2.9의 응답: 바이트=32 시간=14ms TTL=57\n192.0.2.9의 응답: 바이트=32 시간=15ms TTL=57\n\n\
         192.0.2.9에 대한 Ping 통계:\n    패킷: 보냄 = 4, 받음 = 3, 손실 = 1 (25% 손실),\n\
         왕복 시간(밀리초):\n    최소 = 13ms, 최대 = 15ms, 평균 = 14ms\n",
    ),
    (
        "sv",
        "Skickar ping-signal till 192.0.2.9 med 32 byte data:\n\
         Svar från 192.0.2.9: byte=32 tid=13ms TTL=57\nBegäran gjorde timeout.\n\
         Svar från 192.0.2.9: byte=32 tid=14ms TTL=57\nSvar från 192.0.2.9: byte=32 tid=15ms TTL=57\n\n\
         Ping-statistik för 192.0.2.9:\n    Paket: Skickade = 4, mottagna = 3, förlorade = 1 (25 %),\n\
         Ungefärlig överföringstid i millisekunder:\n    Lägsta = 13 ms, Högsta = 15 ms, Medel = 14 ms\n",
    ),
    (
        "tr",
        "192.0.2.9 için 32 bayt veri ile Ping yapılıyor:\n\
         192.0.2.9 cevabı: bayt=32 süre=13ms TTL=57\nİstek zaman aşımına uğradı.\n\
         192.0.2.9 cevabı: bayt=32 süre=14ms TTL=57\n192.0.2.9 cevabı: bayt=32 süre=15ms TTL=57\n\n\
         192.0.2.9 için Ping istatistiği:\n    Paket: Giden = 4, Gelen = 3, Kaybolan = 1 (%25 kayıp),\n\
         Mili saniye türünden yaklaşık tur süreleri:\n    En Az = 13ms, En Çok = 15ms, Ortalama = 14ms\n",
    ),
];

/// The same of Linux: heading, a reply whose number and time are `N` and `T`, the title and the summary.
const LINUX: &[(&str, [&str; 4])] = &[
    (
        "en",
        [
            "56(84) bytes of data.",
            "64 bytes from 192.0.2.9: icmp_seq=N ttl=57 time=T ms",
            "192.0.2.9 ping statistics",
            "4 packets transmitted, 3 received, 25% packet loss, time 3004ms",
        ],
    ),
    (
        "de",
        [
            "56(84) Bytes an Daten.",
            "64 Bytes von 192.0.2.9: icmp_seq=N ttl=57 Zeit=T ms",
            "192.0.2.9 Ping-Statistiken",
            "4 Pakete übertragen, 3 empfangen, 25% Paketverlust, Zeit 3004ms",
        ],
    ),
    (
        "fr",
        [
            "56(84) octets de données.",
            "64 octets de 192.0.2.9 : icmp_seq=N ttl=57 temps=T ms",
            "statistiques ping 192.0.2.9",
            "4 paquets transmis, 3 reçus, 25 % de paquets perdus, temps 3004 ms",
        ],
    ),
    (
        "es",
        [
            "56(84) bytes de datos.",
            "64 bytes desde 192.0.2.9: icmp_seq=N ttl=57 tiempo=T ms",
            "192.0.2.9 estadísticas ping",
            "4 paquetes transmitidos, 3 recibidos, 25% pérdida de paquetes, tiempo 3004ms",
        ],
    ),
    (
        "it",
        [
            "56(84) byte di dati.",
            "64 byte da 192.0.2.9: icmp_seq=N ttl=57 tempo=T ms",
            "Statistiche ping di 192.0.2.9",
            "4 pacchetti trasmessi, 3 ricevuti, 25% di pacchetti persi, tempo 3004ms",
        ],
    ),
    (
        "pt",
        [
            "56(84) bytes de dados.",
            "64 bytes de 192.0.2.9: icmp_seq=N ttl=57 tempo=T ms",
            "192.0.2.9 estatísticas de ping",
            "4 pacotes transmitidos, 3 recebidos, 25% de perda de pacotes, tempo 3004ms",
        ],
    ),
    (
        "nl",
        [
            "56(84) bytes gegevens.",
            "64 bytes van 192.0.2.9: icmp_seq=N ttl=57 tijd=T ms",
            "192.0.2.9 ping-statistieken",
            "4 pakketten verzonden, 3 ontvangen, 25% pakketverlies, tijd 3004ms",
        ],
    ),
    (
        "pl",
        [
            "56(84) bajtów danych.",
            "64 bajty z 192.0.2.9: icmp_seq=N ttl=57 czas=T ms",
            "192.0.2.9 statystyki ping",
            "4 pakietów nadanych, 3 odebranych, 25% straconych pakietów, czas 3004ms",
        ],
    ),
    (
        "ru",
        [
            "56(84) байт данных.",
            "64 байт от 192.0.2.9: icmp_seq=N ttl=57 время=T мс",
            "192.0.2.9 статистика ping",
            "4 пакетов передано, 3 получено, 25% потеряно пакетов, время 3004мс",
        ],
    ),
    (
        "uk",
        [
            "56(84) байтів даних.",
            "64 байтів з 192.0.2.9: icmp_seq=N ttl=57 час=T мс",
            "192.0.2.9 статистика ping",
            "4 пакетів передано, 3 отримано, 25% втрат пакетів, час 3004 мс",
        ],
    ),
    (
        "ja",
        [
            "56(84) バイトのデータ",
            "64 バイト応答 送信元 192.0.2.9: icmp_seq=N ttl=57 時間=Tミリ秒",
            "192.0.2.9 ping 統計",
            "送信パケット数 4, 受信パケット数 3, パケット損失 25%, 時間 3004ミリ秒",
        ],
    ),
    (
        "zh",
        [
            "56(84) 比特的数据。",
            "64 比特，来自 192.0.2.9: icmp_seq=N ttl=57 时间=T 毫秒",
            "192.0.2.9 ping 统计",
            "已发送 4 个包， 已接收 3 个包, 25% 包丢失, 耗时 3004 毫秒",
        ],
    ),
    (
        "ko",
        [
            "56(84) 바이트의 데이터.",
            "64 바이트 (192.0.2.9에서): icmp_seq=N ttl=57 시간=T ms",
            "192.0.2.9 ping 통계",
            "4 패킷이 전송되었습니다, 3 수신되었습니다, 25% 패킷 손실, 시간 3004ms",
        ],
    ),
    (
        "cs",
        [
            "56(84) bajtů dat.",
            "64 bajtů od 192.0.2.9: icmp_seq=N ttl=57 čas=T ms",
            "192.0.2.9 statistiky ping",
            "4 paketů vysláno, 3 přijato, 25% ztráta paketů, čas 3004ms",
        ],
    ),
];

#[track_caller]
fn same_as_english(language: &str, of: &Imported, english: &Imported) {
    assert_eq!(of.run, english.run, "{language}");
}

#[test]
fn windows_in_every_language_is_as_in_english() {
    let english = only(WINDOWS[0].1);
    let counted = english.run.summary.egress_paths[0].counted;
    assert_eq!((counted.sent, counted.received, counted.lost), (4, 3, 1));
    let notes: Vec<&str> = english.run.summary.warnings.iter().map(|note| note.id.as_str()).collect();
    assert_eq!(notes, ["whole-milliseconds"]);
    for (language, text) in WINDOWS {
        same_as_english(language, &only(text), &english);
    }
}

#[test]
fn linux_in_every_language_is_as_in_english() {
    let text = |[sizes, reply, title, summary]: &[&str; 4]| {
        let reply = |number: &str, time: &str| reply.replace('N', number).replace('T', time);
        let replies = [("1", "13.0"), ("3", "14.0"), ("4", "15.0")].map(|(number, time)| reply(number, time));
        format!(
            "PING 192.0.2.9 (192.0.2.9) {sizes}\n{}\n\n--- {title} ---\n{summary}\n\
             rtt min/avg/max/mdev = 13.000/14.000/15.000/0.816 ms\n",
            replies.join("\n")
        )
    };
    let english = only(&text(&LINUX[0].1));
    let counted = english.run.summary.egress_paths[0].counted;
    assert_eq!((counted.sent, counted.received, counted.lost), (4, 3, 1));
    assert!(english.run.summary.warnings.is_empty());
    for (language, lines) in LINUX {
        same_as_english(language, &only(&text(lines)), &english);
    }
}

/// Windows counts what routers reply as received; in no language is it an answer of the far end.
#[test]
fn objections_of_routers_in_any_language_are_no_answers() {
    for (heading, objection, counts) in [
        (
            "Pinging 192.0.2.9 with 32 bytes of data:",
            "Reply from 10.0.0.1: Destination host unreachable.",
            "    Packets: Sent = 2, Received = 2, Lost = 0 (0% loss),",
        ),
        (
            "Esecuzione di Ping 192.0.2.9 con 32 byte di dati:",
            "Risposta da 10.0.0.1: Host di destinazione non raggiungibile.",
            "    Pacchetti: Trasmessi = 2, Ricevuti = 2,\n    Persi = 0 (0% persi),",
        ),
        (
            "Ping wird ausgeführt für 192.0.2.9 mit 32 Bytes Daten:",
            "Antwort von 10.0.0.1: Zielhost nicht erreichbar.",
            "    Pakete: Gesendet = 2, Empfangen = 2, Verloren = 0\n    (0% Verlust),",
        ),
        (
            "192.0.2.9 に ping を送信しています 32 バイトのデータ:",
            "10.0.0.1 からの応答: 宛先ホストに到達できません。",
            "    パケット数: 送信 = 2、受信 = 2、損失 = 0 (0% の損失)、",
        ),
    ] {
        let imported = only(&format!("{heading}\n{objection}\n{objection}\n\n{counts}\n"));
        let counted = imported.run.summary.egress_paths[0].counted;
        assert_eq!((counted.sent, counted.received, counted.lost), (2, 0, 2), "{heading}");
        assert!(warned(&imported, "icmp-errors"), "{heading}");
    }
}
